"""Makes folders without rights for anybody inside of each other, which are hard to remove."""
import os

os.mkdir("outer", 0o700)
os.mkdir("outer/inner", 0o700)
open("outer/inner/file", "w").write("x")
os.mkdir("outer/shut", 0)
os.mkdir("outer/blind", 0o300)
open("outer/blind/file", "w").write("x")
os.mkdir("outer/dead", 0o500)
# --- next episode
import os

assert os.listdir(".") == ["input"]
