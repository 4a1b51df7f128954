# %% Read: 344 penguins of the Palmer Archipelago (examples/data/README.md has the source)
import pandas as pd

penguins = pd.read_csv("examples/data/penguins.csv")
print(f"{len(penguins)} penguins, {penguins['species'].nunique()} species")

# %% Compute: the mean of each measure, by species
table = penguins.groupby("species")[["bill_length_mm", "flipper_length_mm", "body_mass_g"]].mean().round(1)
table

# %% A shell line, on the same file
!head -3 examples/data/penguins.csv
lines = !wc -l < examples/data/penguins.csv
print("lines in the file:", lines[0].strip())

# %% Draw: longer flippers, heavier birds
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(6, 4))
for species, birds in penguins.groupby("species"):
    axes.scatter(birds["flipper_length_mm"], birds["body_mass_g"], s=12, label=species)
axes.set(xlabel="flipper length (mm)", ylabel="body mass (g)", title="Palmer penguins")
axes.legend()
plt.show()

# %% State stays from cell to cell
heaviest = table["body_mass_g"].idxmax()
print(f"The heaviest species is {heaviest}: {table.loc[heaviest, 'body_mass_g']:.0f} g on average")
