# %% Which tools are there? Two MCP servers are registered, examples/mcp.json says how they are started
import mcptools

mcptools.search("file info")

# %% Tools tell where the data is: 344 penguins of the Palmer Archipelago (examples/data/README.md has the source)
from mcptools.filesystem import get_file_info, list_allowed_directories

folder = list_allowed_directories.run(list_allowed_directories.Params()).content.splitlines()[-1]
file = f"{folder}/penguins.csv"
print(get_file_info.run(get_file_info.Params(path=file)).content)

# %% A shell line, on the same file
!head -3 {file}
lines = !wc -l < {file}
print("lines in the file:", lines[0].strip())

# %% Compute: the mean of each measure, by species
import pandas as pd

penguins = pd.read_csv(file)
table = penguins.groupby("species")[["bill_length_mm", "flipper_length_mm", "body_mass_g"]].mean().round(1)
table

# %% Draw: longer flippers, heavier birds
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(6, 4))
for species, birds in penguins.groupby("species"):
    axes.scatter(birds["flipper_length_mm"], birds["body_mass_g"], s=12, label=species)
axes.set(xlabel="flipper length (mm)", ylabel="body mass (g)", title="Palmer penguins")
axes.legend()
plt.show()

# %% Results of tools are typed, and state stays from cell to cell
from mcptools.clock import get_current_time

now = get_current_time.run(get_current_time.Params(timezone="Antarctica/Palmer"))
heaviest = table["body_mass_g"].idxmax()
print(f"It is {now.datetime[11:16]} at Palmer Station. The heaviest species is {heaviest}: {table.loc[heaviest, 'body_mass_g']:.0f} g.")
