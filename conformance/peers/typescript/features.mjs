// Tools, prompts and resources that the conformance suite asks for.

import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

const contract = JSON.parse(await readFile(new URL("../contract.json", import.meta.url), "utf8"));
const { png, wav } = contract.content;
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

const text = (text) => ({ type: "text", text });
const image = { type: "image", data: png, mimeType: "image/png" };
const complete = (...content) => ({ content });
const embedded = (uri, mimeType, text) => ({ type: "resource", resource: { uri, mimeType, text } });
const user = (content) => ({ role: "user", content });
const form = ({ message, schema }) => ({ mode: "form", message, requestedSchema: schema });
const question = (asked) => ({ messages: [user(text(asked))], maxTokens: 100 });

const plain = {
  test_simple_text: () => complete(text("This is a simple text response for testing.")),
  test_image_content: () => complete(image),
  test_audio_content: () => complete({ type: "audio", data: wav, mimeType: "audio/wav" }),
  test_embedded_resource: () =>
    complete(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
  test_multiple_content_types: () =>
    complete(
      text("Multiple content types test:"),
      image,
      embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ),
  test_error_handling: () => ({
    isError: true,
    content: [text("This tool intentionally returns an error for testing")],
  }),
  json_schema_2020_12_tool: (args) => complete(text(JSON.stringify(args))),
};

const notifying = ({ server, changes, era }) => ({
  async test_tool_with_progress(_args, { mcpReq }) {
    const { progressToken } = mcpReq._meta ?? {};
    for (const progress of [0, 50, 100]) {
      const params = { progressToken, progress, total: 100 };
      if (progressToken !== undefined) await mcpReq.notify({ method: "notifications/progress", params });
      await sleep(50);
    }
    return complete(text("done"));
  },
  async test_tool_with_logging(_args, { mcpReq }) {
    for (const step of ["started", "processing", "completed"]) {
      await mcpReq.log("info", `Tool execution ${step}`);
      await sleep(50);
    }
    return complete(text("logged"));
  },
  async test_logging_tool(_args, { mcpReq }) {
    await mcpReq.log("info", "called");
    return complete(text("logged"));
  },
  async test_streaming_elicitation(_args, { mcpReq }) {
    await mcpReq.log("info", "streaming");
    return complete(text("streamed"));
  },
  async test_trigger_tool_change() {
    await changes.tools(server, era);
    return complete(text("the tools have changed"));
  },
  async test_trigger_prompt_change() {
    await changes.prompts(server, era);
    return complete(text("the prompts have changed"));
  },
});

// Requests from server to client, which exist in sessions only.
const asked = async (mcpReq, kind) => {
  const answer = await mcpReq.elicitInput(form(contract.forms[kind]));
  const { action, content } = answer;
  return complete(text(`User response: action=${action}, content=${JSON.stringify(content ?? {})}`));
};
const asking = {
  async test_sampling({ prompt }, { mcpReq }) {
    const { content } = await mcpReq.requestSampling(question(prompt));
    return complete(text(`LLM response: ${content.text ?? ""}`));
  },
  async test_elicitation({ message }, { mcpReq }) {
    const answer = await mcpReq.elicitInput(form({ ...contract.forms.user, message }));
    return complete(text(`User response: ${JSON.stringify(answer)}`));
  },
  test_elicitation_sep1034_defaults: (_args, { mcpReq }) => asked(mcpReq, "defaults"),
  test_elicitation_sep1330_enums: (_args, { mcpReq }) => asked(mcpReq, "choices"),
};

// Results that ask for input, and are sent again with it.
const rounds = ({ sdk, codec }) => {
  const { acceptedContent, inputRequired, inputResponse } = sdk;
  const ask = (kind) => inputRequired.elicit(form(contract.forms[kind]));
  const sample = (kind) => inputRequired.createMessage(question(contract.sampling[kind]));
  const need = async (inputRequests, state) =>
    inputRequired(
      state === undefined ? { inputRequests } : { inputRequests, requestState: await codec.mint(state) },
    );
  const answer = ({ mcpReq }, key) => inputResponse(mcpReq.inputResponses, key);
  const accepted = ({ mcpReq }, key) => acceptedContent(mcpReq.inputResponses, key);
  const confirmed = (word) => async (_args, ctx) => {
    const state = ctx.mcpReq.requestState();
    if (state === undefined || accepted(ctx, "confirm") === undefined) {
      return need({ confirm: ask("confirm") }, { word });
    }
    return complete(text(state.word));
  };
  return {
    async test_missing_capability(_args, { mcpReq }) {
      const requiredCapabilities = { sampling: {} };
      if (!mcpReq.envelope?.[CAPABILITIES]?.sampling) {
        throw new sdk.MissingRequiredClientCapabilityError({ requiredCapabilities });
      }
      return complete(text("the client samples"));
    },
    async test_input_required_result_elicitation(_args, ctx) {
      const { name } = accepted(ctx, "user_name") ?? {};
      return name === undefined ? need({ user_name: ask("name") }) : complete(text(`Hello, ${name}!`));
    },
    async test_input_required_result_sampling(_args, ctx) {
      const found = answer(ctx, "capital_question");
      if (found.kind !== "sampling") return need({ capital_question: sample("capital") });
      return complete(text(found.result.content.text));
    },
    async test_input_required_result_list_roots(_args, ctx) {
      const found = answer(ctx, "client_roots");
      if (found.kind !== "roots") return need({ client_roots: inputRequired.listRoots() });
      return complete(text(found.roots.map(({ uri }) => uri).join(", ")));
    },
    test_input_required_result_request_state: confirmed("state-ok"),
    test_input_required_result_tampered_state: confirmed("untampered"),
    async test_input_required_result_multiple_inputs(_args, ctx) {
      const { name } = accepted(ctx, "user_name") ?? {};
      const [greeting, roots] = [answer(ctx, "greeting"), answer(ctx, "client_roots")];
      if (name === undefined || greeting.kind !== "sampling" || roots.kind !== "roots") {
        const questions = {
          user_name: ask("name"),
          greeting: sample("greeting"),
          client_roots: inputRequired.listRoots(),
        };
        return need(questions, { round: 1 });
      }
      return complete(text(`${greeting.result.content.text}, ${name}, with ${roots.roots.length} roots`));
    },
    async test_input_required_result_multi_round(_args, ctx) {
      const state = ctx.mcpReq.requestState();
      const { name } = accepted(ctx, "step1") ?? {};
      const { color } = accepted(ctx, "step2") ?? {};
      if (state?.name !== undefined && color !== undefined) {
        return complete(text(`${state.name} likes ${color}`));
      }
      if (state !== undefined && name !== undefined) return need({ step2: ask("color") }, { name });
      return need({ step1: ask("name") }, { round: 1 });
    },
    async test_input_required_result_capabilities(_args, { mcpReq }) {
      const declared = mcpReq.envelope?.[CAPABILITIES] ?? {};
      const questions = {
        ...(declared.elicitation && { user_name: ask("name") }),
        ...(declared.sampling && { greeting: sample("greeting") }),
        ...(declared.roots && { client_roots: inputRequired.listRoots() }),
      };
      const isAnswered = Object.keys(mcpReq.inputResponses ?? {}).length > 0;
      if (isAnswered || Object.keys(questions).length === 0) return complete(text("asked enough"));
      return need(questions);
    },
    async test_input_required_result_prompt(_args, ctx) {
      const { context } = accepted(ctx, "user_context") ?? {};
      if (context === undefined) return need({ user_context: ask("context") });
      return { messages: [user(text(`It is about ${context}`))] };
    },
  };
};

const prompts = {
  test_simple_prompt: () => [user(text("This is a simple prompt for testing."))],
  test_prompt_with_arguments: ({ arg1, arg2 }) => [
    user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  ],
  test_prompt_with_embedded_resource: ({ resourceUri }) => [
    user(embedded(resourceUri, "text/plain", "Embedded resource content for testing.")),
    user(text("Please process the embedded resource above.")),
  ],
  test_prompt_with_image: () => [user(image), user(text("Please analyze the image above."))],
};

function read(uri) {
  const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? [];
  if (id !== undefined) return { mimeType: "application/json", text: JSON.stringify({ id, data: `Data for ${id}` }) };
  switch (uri) {
    case "test://static-text":
      return { mimeType: "text/plain", text: "This is the content of the static text resource." };
    case "test://static-binary":
      return { mimeType: "image/png", blob: png };
    case "test://watched-resource":
      return { mimeType: "text/plain", text: "This is the content of the watched resource." };
  }
}

/// Adds everything to `server`.
export function describe(server, { sdk, codec, changes, era }) {
  const { ProtocolError, ProtocolErrorCode } = sdk;
  const unknown = (what, data) => new ProtocolError(ProtocolErrorCode.InvalidParams, `unknown ${what}`, data);
  const later = rounds({ sdk, codec });
  const tools = { ...plain, ...notifying({ server, changes, era }), ...asking, ...later };

  server.setRequestHandler("tools/list", () => ({ tools: contract.tools }));
  server.setRequestHandler("tools/call", ({ params }, ctx) => {
    const isListed = contract.tools.some(({ name }) => name === params.name);
    if (!isListed) throw unknown(`tool ${params.name}`);
    return tools[params.name](params.arguments ?? {}, ctx);
  });
  server.setRequestHandler("prompts/list", () => ({ prompts: contract.prompts }));
  server.setRequestHandler("prompts/get", async ({ params }, ctx) => {
    if (params.name === "test_input_required_result_prompt") return later[params.name]({}, ctx);
    const prompt = prompts[params.name];
    if (!prompt) throw unknown(`prompt ${params.name}`);
    return { messages: prompt(params.arguments ?? {}) };
  });
  server.setRequestHandler("resources/list", () => ({ resources: contract.resources }));
  server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: contract.templates }));
  server.setRequestHandler("resources/read", ({ params: { uri } }) => {
    const found = read(uri);
    if (!found) throw unknown(`resource ${uri}`, { uri });
    return { contents: [{ uri, ...found }] };
  });
  server.setRequestHandler("completion/complete", () => ({
    completion: { values: ["paris", "park", "party"], total: 3, hasMore: false },
  }));
  if (era === "legacy") {
    server.setRequestHandler("resources/subscribe", () => ({}));
    server.setRequestHandler("resources/unsubscribe", () => ({}));
  }
}
