"""
The page and its server; needs Dash and waitress.

- `layout`: what stands where
- `parts`: results as HTML
- `callbacks`: what changes when somebody types or chooses
- `application`: the application with its rules about who may ask for what
- `upload`: archives in, layer weights out
- `server`: the application on a port of this machine
"""
