"""From the lake to a picture, without Spark: who isolated which broker, when.

It needs `pip install duckdb pandas plotly`, and a file that `faultline export duckdb` wrote.
"""

import sys

import duckdb
import plotly.express as px

lake, picture = sys.argv[1:] if len(sys.argv) == 3 else ("lake.duckdb", "isolations.html")
night = (
    duckdb.connect(lake, read_only=True)
    .sql("SELECT * FROM broker_isolations WHERE last_night ORDER BY broker_name, client_id")
    .df()
)
figure = px.timeline(
    night, x_start="start_at", x_end="end_at", y="client_id", color="broker_name", hover_data=["cause"]
)
figure.write_html(picture)
print(f"{picture}: {len(night)} isolations of {night.broker_name.nunique()} brokers")
