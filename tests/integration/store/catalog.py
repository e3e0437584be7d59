"""Everything that a database's catalog says of its tables, to compare two databases."""

import psycopg

_PARTS = {
    "columns": """
        SELECT c.relname, c.relkind, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,
            pg_get_expr(d.adbin, d.adrelid), a.attacl::text, a.attnum
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v', 'S') ORDER BY 1, 9""",
    "relations": """
        SELECT relname, relkind, relrowsecurity, relforcerowsecurity, reloptions, relacl::text,
            CASE relkind WHEN 'v' THEN pg_get_viewdef(oid) WHEN 'i' THEN pg_get_indexdef(oid) END
        FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1""",
    "constraints": """
        SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), convalidated FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2""",
    "functions": """
        SELECT oid::regprocedure::text, pg_get_functiondef(oid), proacl::text FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace ORDER BY 1""",
    "triggers": """
        SELECT pg_get_triggerdef(oid), tgenabled FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1""",
    "policies": """
        SELECT tablename, policyname, permissive, roles::text, cmd, qual, with_check FROM pg_policies
        WHERE schemaname = 'public' ORDER BY 1, 2""",
    "rights on the schema": "SELECT nspacl::text FROM pg_namespace WHERE nspname = 'public'",
    "versions": "SELECT version FROM schema_version",
}


def read(url: str) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of each part of the catalog. Rights are sorted: their order is that of the GRANTs."""
    with psycopg.connect(url) as connection:
        return {part: [tuple(map(_sorted, row)) for row in connection.execute(query.encode()).fetchall()]
                for part, query in _PARTS.items()}


def _sorted(value: object) -> object:
    if isinstance(value, str) and value.startswith("{") and "=" in value:
        return sorted(value.strip("{}").split(","))
    return value
