// Inference and learner behind the door, driven by grpc-js from the .proto files alone. HONE_FOREIGN says where they are (JSON).
"use strict";

const assert = require("node:assert/strict");
const {readFileSync} = require("node:fs");
const {after, before, test} = require("node:test");
const {setTimeout: sleep} = require("node:timers/promises");

const {call, collect, contracts, detailsReader, failure, grpc, show} = require("./peer.cjs");

const place = JSON.parse(process.env.HONE_FOREIGN);
const named = {tenant_id: place.tenant_id, model_id: place.model_id};
const details = detailsReader(place.google_protos);
const PROMPT = [5, 6, 7];
let inference;
let learner;

before(() => {
  show("authorization", `Bearer ${place.api_key}`);
  const trusted = grpc.credentials.createSsl(readFileSync(place.certificate));
  const {InferenceService, LearnerService} = contracts(place.protos);
  inference = new InferenceService(place.door_address, trusted);
  learner = new LearnerService(place.door_address, trusted);
});

after(() => {
  inference.close();
  learner.close();
});

function asked(name, changes = {}) {
  const sampling = {max_tokens: 6, temperature: 1.0, top_p: 1.0, ...changes.sampling};
  const noise = {seed: 7, request: name, call: 0};
  return {request_id: name, model_id: place.model_id, prompt_ids: PROMPT, n: 2, noise, ...changes, sampling};
}

function refusal(error) {
  const rich = details(error);
  assert.equal(error.code, rich.code, "the status in the details is the call's");
  return {code: error.code, fields: rich.fields};
}

function append(key, kind, payload) {
  return appendAll([[key, kind, payload]]);
}

function appendAll(wanted) {
  const operations = wanted.map(([key, kind, payload]) => (
    {dedupe_key: key, kind, payload_json: JSON.stringify(payload)}));
  return call(learner, "AppendOperations", {...named, operations});
}

/** Returns the operations that train a step and publish what comes out. */
function trained(runId, step) {
  return [
    [`foreign/${step}/gradient`, "OPERATION_KIND_FORWARD_BACKWARD", {run_id: runId, step}],
    [`foreign/${step}/update`, "OPERATION_KIND_OPTIM_STEP", {lr: 1e-3, clip_norm: 1.0}],
    [`foreign/${step}/save`, "OPERATION_KIND_SAVE", {run_id: runId, step, number: step}],
  ];
}

async function ended(operationId, timeoutMs = 60_000) {
  const until = Date.now() + timeoutMs;
  const request = {tenant_id: place.tenant_id, operation_id: operationId};
  for (;;) {
    const {operation} = await call(learner, "GetOperation", request);
    if (operation.state !== "queued") return operation;
    assert.ok(Date.now() < until, `operation ${operationId} is still queued`);
    await sleep(100);
  }
}

const spans = (response) => new Set(response.completions.flatMap((one) => one.versions.map((span) => span.version_id)));

test("a prompt is answered by the newest version, with a log-probability for each token", async () => {
  const response = await call(inference, "Generate", asked("foreign/unary"));
  assert.equal(response.request_id, "foreign/unary");
  assert.deepEqual(response.completions.map((one) => one.index), [0, 1]);
  for (const {ids, logp_sample, finish_reason} of response.completions) {
    assert.equal(ids.length, logp_sample.length);
    assert.ok(ids.length >= 1 && ids.length <= 6);
    assert.ok(logp_sample.every((logp) => logp <= 0));
    assert.ok(["FINISH_REASON_STOP", "FINISH_REASON_LENGTH"].includes(finish_reason));
  }
  assert.deepEqual(spans(response), new Set([place.newest_version_id]));
});

test("a stream gives the same answer token by token", async () => {
  const whole = await call(inference, "Generate", asked("foreign/stream"));
  const messages = await collect(inference, "GenerateStream", {request: asked("foreign/stream")});
  const deltas = messages.map((message) => message.delta);
  for (const completion of whole.completions) {
    const own = deltas.filter((delta) => delta.index === completion.index);
    assert.deepEqual(own.flatMap((delta) => delta.ids), completion.ids);
    assert.deepEqual(own.flatMap((delta) => delta.logp_sample), completion.logp_sample);
    assert.equal(own.at(-1).finish_reason, completion.finish_reason);
    assert.ok(own.length > 1);
  }
});

test("a deadline ends a call that waits for a version nobody makes", async () => {
  const began = Date.now();
  const error = await failure(call(inference, "Generate", asked("foreign/late", {min_version: 1_000_000}), 700));
  assert.ok([grpc.status.DEADLINE_EXCEEDED, grpc.status.UNAVAILABLE].includes(error.code), error.message);
  assert.ok(Date.now() - began < 3_000);
});

test("a wrong request is refused by the name of its field, in the details of the status", async () => {
  const code = grpc.status.INVALID_ARGUMENT;
  const unary = await failure(call(inference, "Generate", asked("foreign/none", {n: 0})));
  assert.deepEqual(refusal(unary), {code, fields: ["n"]});
  const streamed = asked("foreign/mass", {sampling: {top_p: 2.0}});
  const stream = await failure(collect(inference, "GenerateStream", {request: streamed}));
  assert.deepEqual(refusal(stream), {code, fields: ["request.sampling.top_p"]});
  const unread = {...named, operations: [{dedupe_key: "x", kind: "OPERATION_KIND_SAVE", payload_json: "[]"}]};
  const payload = await failure(call(learner, "AppendOperations", unread));
  assert.deepEqual(refusal(payload), {code, fields: ["operations[0].payload_json"]});
});

test("versions are listed newest first, and only to their owner", async () => {
  const {versions} = await call(learner, "ListModelVersions", named);
  assert.deepEqual(versions.map((version) => version.number), place.numbers);
  assert.equal(versions[0].version_id, place.newest_version_id);
  const foreign = call(learner, "ListModelVersions", {...named, tenant_id: "somebody"});
  assert.equal((await failure(foreign)).code, grpc.status.NOT_FOUND);
});

test("a planned step is trained, and its version sampled from; no step of another tenant is", async () => {
  const {planned_step: step, stranger_run_id: stranger} = place;
  const refused = await failure(appendAll(trained(stranger, step)));
  assert.deepEqual(refusal(refused),
    {code: grpc.status.INVALID_ARGUMENT, fields: ["operations[0].payload_json.run_id"]});

  const {operations} = await appendAll(trained(place.run_id, step));
  const done = await Promise.all(operations.map((operation) => ended(operation.operation_id)));
  assert.deepEqual(done.map((operation) => operation.state), ["done", "done", "done"], done[0].reason);
  const {version_id: published, metrics} = JSON.parse(done.at(-1).result_json);
  assert.ok(metrics.trained_tokens > 0 && Number.isFinite(metrics.grad_norm), JSON.stringify(metrics));
  const response = await call(inference, "Generate", asked("foreign/trained", {min_version: step}));
  assert.deepEqual(spans(response), new Set([published]));
});

test("an operation is appended once, executed by a trainer, and its version sampled from", async () => {
  const number = place.numbers[0] + 2;
  const payload = {run_id: place.run_id, number};
  const {operations: [first]} = await append(`foreign/${number}`, "OPERATION_KIND_SAVE", payload);
  const {operations: [again]} = await append(`foreign/${number}`, "OPERATION_KIND_SAVE", payload);
  assert.equal(again.operation_id, first.operation_id);
  const other = await failure(append(`foreign/${number}`, "OPERATION_KIND_SAVE", {...payload, number: number + 1}));
  assert.deepEqual(refusal(other), {code: grpc.status.INVALID_ARGUMENT, fields: ["operations[0].dedupe_key"]});

  const done = await ended(first.operation_id);
  assert.equal(done.state, "done", done.reason);
  const {version_id: published} = JSON.parse(done.result_json);
  const response = await call(inference, "Generate", asked("foreign/newer", {min_version: number}));
  assert.deepEqual(spans(response), new Set([published]));
});

test("nobody else's operation is shown", async () => {
  const {operations: [own]} = await append("foreign/own", "OPERATION_KIND_SAVE",
    {run_id: place.run_id, number: place.numbers[0] + 3});
  const request = {tenant_id: "somebody", operation_id: own.operation_id};
  assert.equal((await failure(call(learner, "GetOperation", request))).code, grpc.status.NOT_FOUND);
  assert.equal((await ended(own.operation_id)).state, "done");
});
