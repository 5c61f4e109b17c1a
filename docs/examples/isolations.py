"""From the lake to a picture, without Spark: who isolated which broker, when. Run it from the checkout's folder.

It needs `pip install 'deltalake[pyarrow]' duckdb pandas plotly` and a lake, such as `bin/faultline nightly` makes.
"""

import sys
from pathlib import Path

import deltalake
import duckdb
import plotly.express as px

lake, picture = sys.argv[1:] if len(sys.argv) == 3 else ("lake", "isolations.html")
tables = duckdb.connect()
for name in ("isolation_intervals", "run_log"):
    tables.register(name, deltalake.DeltaTable(f"{lake}/{name}").to_pyarrow_table())
view = Path("jobs/serving/sql/broker_isolations.sql").read_text(encoding="utf-8")
night = tables.sql(f"SELECT * FROM ({view}) WHERE last_night ORDER BY broker_name, client_id").df()
figure = px.timeline(
    night, x_start="start_at", x_end="end_at", y="client_id", color="broker_name", hover_data=["cause"]
)
figure.write_html(picture)
print(f"{picture}: {len(night)} isolations of {night.broker_name.nunique()} brokers")
