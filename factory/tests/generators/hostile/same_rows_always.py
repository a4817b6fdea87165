"""Draws the same rows whatever it is asked for."""
# base: table
# must: not_generative
def columns(rng, n):
    load, speed, age, wood = np.random.Generator(np.random.Philox(7)).uniform(size=(1000, 4))[:n].T
    wood = np.where(wood < 0.5, "oak", "ash").tolist()
    return {"load": 100 * load, "speed": 1 + 8 * speed, "age": 1 + 59 * age, "wood": wood}
