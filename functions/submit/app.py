"""POST /v1/jobs: answers as soon as the job stands in the table; nothing has been charged by then."""

from mediajobs import wiring

handler = wiring.submit_handler()
