"""Events as AWS hands them to the functions, one file a case, and the generator that writes them.

`python -m events` compares the files with what the generator makes, `python -m events --write` writes them. They are
made, not typed, because parts of them follow from the code: a webhook's signature, the token in its URL, a job as the
table's stream shows it. All of them happen at one moment (`fixed.NOW`); at any other time a signed webhook is stale, so
a deployed function answers it with 401.

events/<function>/<case>.json   what the function is given
events/expected.json            what must stand in the table before, and what comes of it
events/env.json                 every function's environment, for `sam local invoke --env-vars`
"""
