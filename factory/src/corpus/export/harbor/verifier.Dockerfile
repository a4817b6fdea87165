COPY . /tests/
