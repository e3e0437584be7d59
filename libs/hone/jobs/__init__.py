"""Jobs: work that outlives the request for it, as rows that workers of any process take, renew, retry and give up."""
