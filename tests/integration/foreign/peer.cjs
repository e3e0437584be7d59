// A client that shares nothing with Hone but the .proto files: channels, calls with deadlines, rich error details.
"use strict";

const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");
const protobuf = require("protobufjs");

const OPTIONS = {keepCase: true, longs: Number, enums: String, defaults: true, oneofs: true};
const DETAILS = "grpc-status-details-bin"; // where gRPC carries google.rpc.Status

/** Returns hone.v1 as grpc-js has it, read from `folder`. */
function contracts(folder) {
  const files = ["hone/v1/inference.proto", "hone/v1/learner.proto"];
  return grpc.loadPackageDefinition(loader.loadSync(files, {...OPTIONS, includeDirs: [folder]})).hone.v1;
}

const shown = new grpc.Metadata();

/** Has every later call show `value` in its metadata. */
function show(name, value) {
  shown.set(name, value);
}

/** Makes one call and returns its response; the call ends after `deadlineMs` whatever the server does. */
function call(client, method, request, deadlineMs = 30_000) {
  return new Promise((resolve, reject) => {
    client[method](request, shown, {deadline: Date.now() + deadlineMs}, (error, response) => {
      error ? reject(error) : resolve(response);
    });
  });
}

/** Makes one call that streams its answer and returns all messages. */
function collect(client, method, request, deadlineMs = 30_000) {
  return new Promise((resolve, reject) => {
    const messages = [];
    const stream = client[method](request, shown, {deadline: Date.now() + deadlineMs});
    stream.on("data", (message) => messages.push(message));
    stream.on("error", reject);
    stream.on("end", () => resolve(messages));
  });
}

/** Returns how a call fails; that it succeeds is a failure here. */
async function failure(promise) {
  let response;
  try {
    response = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`expected the call to fail, found ${JSON.stringify(response)}`);
}

/** Returns a reader of an error's google.rpc.BadRequest details, by the definitions in `folder`. */
function detailsReader(folder) {
  const root = new protobuf.Root();
  root.resolvePath = (_, target) => (target in protobuf.common ? target : `${folder}/${target}`);
  root.loadSync(["google/rpc/status.proto", "google/rpc/error_details.proto"]);
  const status = root.lookupType("google.rpc.Status");
  const badRequest = root.lookupType("google.rpc.BadRequest");
  return (error) => {
    const [packed] = error.metadata.get(DETAILS);
    const rich = status.decode(packed);
    const fields = rich.details
      .filter((detail) => (detail.type_url ?? detail.typeUrl).endsWith("/google.rpc.BadRequest"))
      .flatMap((detail) => (badRequest.decode(detail.value).fieldViolations));
    return {code: rich.code, message: rich.message, fields: fields.map((violation) => violation.field)};
  };
}

module.exports = {call, collect, contracts, detailsReader, failure, grpc, show};
