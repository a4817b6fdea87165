RUN useradd --create-home agent
WORKDIR /app
COPY input/ /app/input/
RUN chmod -R a+rX /app/input && chown agent /app
