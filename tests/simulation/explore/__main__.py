import sys, time
from tests.simulation.explore.twist import deciding
from tests.simulation.explore.models import MODELS
from tests.simulation.explore.engine import Engine
from tests.simulation.explore.explorer import Explorer
names=[a for a in sys.argv[1:] if not a.startswith("-")]
for m in MODELS:
    if names and m.name not in names: continue
    if "--long" in sys.argv: m=m.longer()
    with deciding(): r=Explorer(Engine(m), most_states=int(5e5), most_seconds=60).run()
    print(f"{r.model:12} {r.states:9} {r.steps:9} {r.depth:4} {r.rounds:7} {r.seconds:6.1f}s cpu {time.process_time():.1f} {'cut' if r.cut else ''} {r.violation}", flush=True)
    for l in r.trace: print("   ", l)
