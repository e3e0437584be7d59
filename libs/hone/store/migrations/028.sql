-- Lets gateways and doors read the version of the tables, which they compare with their own as they start.

GRANT SELECT ON schema_version TO hone_gateway;
