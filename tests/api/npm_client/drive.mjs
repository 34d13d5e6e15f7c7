/**
 * Drives a running service with the unmodified npm client, as its users do.
 *
 *   BASE_URL=http://127.0.0.1:8000 API_KEY=ek_… [API_PREFIX=/api] node drive.mjs
 *
 * The key belongs to an admin of exactly one workspace. Every line is one fact; the exit code is 1 when one of them
 * does not hold. All ids are new in each run, and what a run makes it deletes.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import { MastraClient, MastraClientError } from '@mastra/client-js';

const { BASE_URL, API_KEY, API_PREFIX } = process.env;
if (!BASE_URL || !API_KEY) {
  console.error('Set BASE_URL and API_KEY.');
  process.exit(2);
}

/** Below the time that the caller of this file allows: a service that hangs is reported, not killed. */
const DEADLINE_MS = 100_000;

const connection = {
  baseUrl: BASE_URL,
  ...(API_PREFIX ? { apiPrefix: API_PREFIX } : {}),
  headers: { Authorization: `Bearer ${API_KEY}` },
  retries: 0,
  abortSignal: AbortSignal.timeout(DEADLINE_MS),
};
const client = new MastraClient(connection);

/** The newest HTTP answer, for the facts that the client keeps to itself: the exact status and `Location`. */
let lastAnswer;
const watched = new MastraClient({
  ...connection,
  fetch: async (...request) => (lastAnswer = await fetch(...request)),
});

const RUN = `${Date.now().toString(36)}${Math.random().toString(36).slice(2, 6)}`;
const MINE = { npmRun: RUN };
const ECHO = { provider: 'echo', name: 'echo' };
const NO_SUCH_VERSION = '00000000-0000-4000-8000-000000000000';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const ISO_UTC_MILLISECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** An id that no other run uses. */
const own = (name) => `npm-${RUN}-${name}`;

// --- Facts -----------------------------------------------------------------------------------------------------

let checks = 0;
let failures = 0;

/** State one fact. Returns what `fact` returns, undefined when it does not hold. */
async function check(name, fact) {
  checks += 1;
  const title = `${checks} - ${name}`;
  try {
    const value = await fact();
    console.log(`ok ${title}`);
    return value;
  } catch (error) {
    failures += 1;
    console.log(`not ok ${title}`);
    console.log(String(error?.stack ?? error).replace(/^/gm, '  # '));
    return undefined;
  }
}

/** The call is refused with this status and the one error body; `field` must be among its issues. */
async function refused(call, status, { field, code } = {}) {
  const error = await call().then(
    (answer) => assert.fail(`answered, where ${status} was due: ${JSON.stringify(answer)}`),
    (reason) => reason,
  );
  if (!(error instanceof MastraClientError)) throw error;
  assert.equal(error.status, status, error.message);
  assert.ok(typeof error.body?.error === 'string' && error.body.error, 'the body holds a sentence');
  assert.match(error.body.code, /^[a-z][a-z0-9_]*$/, 'the body holds a stable code');
  if (code) assert.equal(error.body.code, code);
  if (field) {
    const named = error.body.issues?.map((issue) => issue.field) ?? [];
    const fits = (name) => (field instanceof RegExp ? field.test(name) : field === name);
    assert.ok(named.some(fits), `${field} is among the issues: ${JSON.stringify(error.body)}`);
    assert.ok(error.body.issues.every((issue) => issue.message), 'every issue has a message');
  }
  return error.body;
}

const ids = (records) => records.map((record) => record.id);
const numbers = (versions) => versions.map((version) => version.versionNumber);
const sorted = (values) => [...values].sort();

/** The parts of a record that say which version is which. */
const pointers = ({ status, activeVersionId, latestVersionId, resolvedVersionId, hasDraft }) => ({
  status,
  activeVersionId,
  latestVersionId,
  resolvedVersionId,
  hasDraft,
});

/** `expected` holds for the fields that it names. */
function has(actual, expected) {
  const picked = Object.fromEntries(Object.keys(expected).map((key) => [key, actual?.[key]]));
  assert.deepEqual(picked, expected);
}

/** Keys by code point at every level: what the export promises. */
function byCodePoint(value) {
  if (Array.isArray(value)) return value.map(byCodePoint);
  if (value === null || typeof value !== 'object') return value;
  const keys = Object.keys(value).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return Object.fromEntries(keys.map((key) => [key, byCodePoint(value[key])]));
}

// --- What a run makes ------------------------------------------------------------------------------------------

const made = [];

async function createAgent(fields, by = client) {
  const { metadata, ...rest } = fields;
  const record = await by.createStoredAgent({ model: ECHO, metadata: { ...MINE, ...metadata }, ...rest });
  made.push(client.getStoredAgent(record.id));
  return record;
}

async function createBlock(fields, by = client) {
  const { metadata, ...rest } = fields;
  const record = await by.createStoredPromptBlock({ metadata: { ...MINE, ...metadata }, ...rest });
  made.push(client.getStoredPromptBlock(record.id));
  return record;
}

async function cleanUp() {
  for (const resource of made.reverse()) {
    try {
      await resource.delete();
    } catch (error) {
      if (error.status !== 404) console.log(`# not deleted: ${error.message}`);
    }
  }
  await check('after the clean-up no agent and no block of this run is left', async () => {
    const agents = await client.listStoredAgents({ status: 'all', metadata: MINE });
    const blocks = await client.listStoredPromptBlocks({ metadata: MINE });
    assert.deepEqual([agents.total, blocks.total], [0, 0]);
  });
}

// --- Prompt blocks ---------------------------------------------------------------------------------------------

async function promptBlocks() {
  const id = own('tone');
  const block = client.getStoredPromptBlock(id);
  // Decomposed and astral characters: a service that normalises or re-encodes text changes these bytes.
  const first = 'Freundlich, nai\u0308v \u2013 日本語 🙂 {{ user.name || "Gäste" }}\nzweite Zeile';
  const second = 'Knapp \u2014 „und klar“.';
  const context = { user: { name: 'Zoë' } };

  const created = await check('block: create makes an inactive draft and answers 201 with a Location', async () => {
    const record = await createBlock({ id, name: 'Tön', description: 'Wie wir reden', content: first }, watched);
    assert.equal(lastAnswer.status, 201);
    assert.ok(lastAnswer.headers.get('location').endsWith(`/stored/prompt-blocks/${id}`));
    has(record, { id, name: 'Tön', content: first, status: 'draft', activeVersionId: null, hasDraft: true });
    assert.match(record.latestVersionId, UUID);
    assert.equal(record.resolvedVersionId, record.latestVersionId);
    assert.deepEqual(record.metadata, MINE);
    return record;
  });
  const v1 = created?.latestVersionId;

  await check('block: the record names its author and workspace, and dates in UTC with milliseconds', async () => {
    const record = await block.details();
    assert.ok(record.authorId && record.workspaceId);
    assert.match(record.createdAt, ISO_UTC_MILLISECONDS);
    assert.match(record.updatedAt, ISO_UTC_MILLISECONDS);
    assert.ok(!('visibility' in record), 'a block has no visibility');
  });
  await check('block: content comes back byte for byte, also with status and requestContext', async () => {
    const answers = [
      await block.details(),
      await block.details(context),
      await block.details(undefined, { status: 'draft' }),
      await block.details(context, { status: 'draft' }),
    ];
    for (const { content } of answers) assert.ok(Buffer.from(content).equals(Buffer.from(first)));
  });
  await check('block: a version made while none is active holds the configuration of the latest', async () => {
    const version = await block.createVersion();
    has(version, { blockId: id, versionNumber: 2, name: 'Tön', content: first, changedFields: [] });
    await block.deleteVersion(version.id);
  });

  const updated = await check('block: update makes an inactive draft and resolves to it', async () => {
    const record = await block.update({ content: second, changeMessage: '  Kürzer  ' });
    has(record, { content: second, name: 'Tön', status: 'draft', activeVersionId: null, hasDraft: true });
    assert.notEqual(record.latestVersionId, v1);
    assert.equal(record.resolvedVersionId, record.latestVersionId);
    return record;
  });
  const v3 = updated?.latestVersionId;

  await check('block: a save in which nothing differs makes no version', async () => {
    const record = await block.update({ content: second, name: 'Tön' });
    assert.equal(record.latestVersionId, v3);
    assert.equal((await block.listVersions()).total, 2);
  });
  await check('block: versions come newest first, with author, state, labels and the fields that changed', async () => {
    const { versions, total, page, perPage, hasMore } = await block.listVersions();
    assert.deepEqual({ total, page, perPage, hasMore }, { total: 2, page: 0, perPage: 20, hasMore: false });
    const [newer, older] = versions;
    has(newer, { id: v3, blockId: id, changedFields: ['content'], changeMessage: 'Kürzer', state: 'draft' });
    has(older, { id: v1, versionNumber: 1, changeMessage: 'Initial version', state: 'historical' });
    assert.deepEqual(sorted(older.changedFields), ['content', 'description', 'name']);
    for (const version of versions) {
      has(version, { authorId: created.authorId, source: 'database', readOnly: false });
      assert.ok(Array.isArray(version.labels));
      assert.match(version.createdAt, ISO_UTC_MILLISECONDS);
    }
  });
  await check('block: a deleted version number is not used again', async () => {
    assert.deepEqual(numbers((await block.listVersions()).versions), [3, 1]);
  });
  await check('block: versions are paged and ordered as asked', async () => {
    const oldest = { orderBy: { field: 'versionNumber', direction: 'ASC' }, perPage: 1 };
    const one = await block.listVersions({ ...oldest, page: 0 });
    assert.deepEqual([numbers(one.versions), one.total, one.hasMore], [[1], 2, true]);
    const two = await block.listVersions({ ...oldest, page: 1 }, context);
    assert.deepEqual([numbers(two.versions), two.total, two.hasMore], [[3], 2, false]);
    const none = await block.listVersions({ perPage: 0 }, context);
    assert.deepEqual([none.versions, none.total], [[], 2]);
  });
  await check('block: one version is read with its configuration and without a status', async () => {
    const version = await block.getVersion(v1, context);
    has(version, { id: v1, blockId: id, versionNumber: 1, name: 'Tön', content: first });
    assert.ok(!('status' in version));
  });
  await check('block: activate publishes exactly the version named, not the latest', async () => {
    const answer = await block.activateVersion(v1);
    has(answer, { success: true, activeVersionId: v1 });
    assert.ok(answer.message);
    const record = await block.details();
    assert.deepEqual(pointers(record), {
      status: 'published',
      activeVersionId: v1,
      latestVersionId: v3,
      resolvedVersionId: v1,
      hasDraft: true,
    });
    assert.equal(record.content, first);
  });
  await check('block: published and draft resolve to different versions', async () => {
    assert.equal((await block.details(undefined, { status: 'published' })).content, first);
    assert.equal((await block.details(undefined, { status: 'draft' })).content, second);
  });
  const copy = await check('block: createVersion copies the active configuration and stays inactive', async () => {
    const version = await block.createVersion({ changeMessage: 'Zwischenstand' });
    has(version, { versionNumber: 4, content: first, changeMessage: 'Zwischenstand', changedFields: ['content'] });
    has(await block.details(), { activeVersionId: v1, latestVersionId: version.id, hasDraft: true });
    return version;
  });
  await check('block: restore copies an old version into a new draft and leaves the active one', async () => {
    const version = await block.restoreVersion(v3);
    has(version, { versionNumber: 5, content: second, changeMessage: 'Restored from version 3' });
    assert.ok(![v1, v3].includes(version.id));
    has(await block.details(), { activeVersionId: v1, latestVersionId: version.id, content: first });
  });
  await check('block: compare names exactly the fields that differ, with both values', async () => {
    const { diffs, fromVersion, toVersion } = await block.compareVersions(v1, v3);
    assert.equal(diffs.length, 1);
    has(diffs[0], { field: 'content', previousValue: first, currentValue: second });
    assert.deepEqual([fromVersion.id, toVersion.id], [v1, v3]);
    const same = await block.compareVersions(v1, copy.id, context);
    assert.deepEqual(same.diffs, []);
  });
  await check('block: the active version cannot be deleted, another one can', async () => {
    await refused(() => block.deleteVersion(v1), 400);
    has(await block.deleteVersion(copy.id), { success: true });
    await refused(() => block.getVersion(copy.id), 404);
    assert.equal((await block.details()).activeVersionId, v1);
  });
  await check('block: autoPublish makes the version of this very update active', async () => {
    const record = await block.update({ content: 'Neu: 新しい', autoPublish: true });
    has(record, { status: 'published', hasDraft: false, activeVersionId: record.latestVersionId });
    assert.equal((await block.details()).content, 'Neu: 新しい');
  });
  await check('block: an id that is taken is 409, missing fields are 400 by name', async () => {
    const create = (fields) => () => client.createStoredPromptBlock(fields);
    await refused(create({ id, name: 'Again', content: 'x' }), 409);
    await refused(create({ id: own('x'), name: 'No content' }), 400, { field: 'content' });
    await refused(create({ id: own('x'), content: 'No name' }), 400, { field: 'name' });
  });
  await check('block: delete removes it with its versions, and the id starts again at version 1', async () => {
    const answer = await block.delete();
    assert.equal(answer.success, true);
    assert.ok(answer.message);
    await refused(() => block.details(), 404);
    await refused(() => block.listVersions(), 404);
    await createBlock({ id, name: 'Again', content: 'anew', autoPublish: true });
    const { versions, total } = await block.listVersions();
    assert.deepEqual([numbers(versions), total], [[1], 1]);
    await refused(() => block.getVersion(v1), 404);
  });
}

async function promptBlockLists() {
  const metadata = { ...MINE, list: 'blöcke' };
  const author = await check('block list: drafts and published ones without a status, newest first', async () => {
    const a = await createBlock({ id: own('list-a'), name: 'A', content: 'a', metadata, autoPublish: true });
    await sleep(5);
    await createBlock({ id: own('list-b'), name: 'B', content: 'b', metadata });
    const { promptBlocks, total, page, perPage, hasMore } = await client.listStoredPromptBlocks({ metadata });
    assert.deepEqual(ids(promptBlocks), [own('list-b'), own('list-a')]);
    assert.deepEqual({ total, page, perPage, hasMore }, { total: 2, page: 0, perPage: 100, hasMore: false });
    return a.authorId;
  });
  await check('block list: status tells drafts from published ones', async () => {
    const draft = await client.listStoredPromptBlocks({ metadata, status: 'draft' });
    const published = await client.listStoredPromptBlocks({ metadata, status: 'published' });
    assert.deepEqual([ids(draft.promptBlocks), ids(published.promptBlocks)], [[own('list-b')], [own('list-a')]]);
  });
  await check('block list: page, perPage and orderBy', async () => {
    const orderBy = { field: 'createdAt', direction: 'ASC' };
    const one = await client.listStoredPromptBlocks({ metadata, orderBy, page: 0, perPage: 1 });
    const two = await client.listStoredPromptBlocks({ metadata, orderBy, page: 1, perPage: 1 });
    assert.deepEqual([ids(one.promptBlocks), one.total, one.hasMore], [[own('list-a')], 2, true]);
    assert.deepEqual([ids(two.promptBlocks), two.total, two.hasMore], [[own('list-b')], 2, false]);
  });
  await check('block list: authorId filters, and total counts the same', async () => {
    const mine = await client.listStoredPromptBlocks({ metadata, authorId: author });
    const nobody = await client.listStoredPromptBlocks({ metadata, authorId: own('nobody') });
    assert.deepEqual([mine.total, nobody.total, nobody.promptBlocks], [2, 0, []]);
  });
}

// --- Stored agents ---------------------------------------------------------------------------------------------

async function storedAgents() {
  const id = own('guide');
  const agent = client.getStoredAgent(id);
  const context = { user: { name: 'Zoë' } };
  const config = {
    name: 'Führer',
    description: 'Erklärt \u2013 日本語',
    instructions: 'Erkläre {{ topic }} ruhig \u2013 nai\u0308v, 🙂\nund "genau".',
    model: { ...ECHO, note: 'wärmer' },
    defaultOptions: { maxSteps: 3 },
    memory: { options: { lastMessages: 10, semanticRecall: false, ordered: ['b', 'a', null] } },
  };
  const metadata = { ...MINE, team: 'a', keep: 1 };

  const created = await check('agent: create publishes at once and answers 201 with a Location', async () => {
    const record = await createAgent({ id, ...config, metadata }, watched);
    assert.equal(lastAnswer.status, 201);
    assert.ok(lastAnswer.headers.get('location').endsWith(`/stored/agents/${id}`));
    has(record, { id, status: 'published', visibility: 'private', hasDraft: false, metadata });
    assert.match(record.activeVersionId, UUID);
    assert.equal(record.latestVersionId, record.activeVersionId);
    assert.equal(record.resolvedVersionId, record.activeVersionId);
    return record;
  });
  const v1 = created?.activeVersionId;

  await check('agent: every field of the configuration is read as it was written, with any selector', async () => {
    const answers = [
      await agent.details(),
      await agent.details(context),
      await agent.details(undefined, { status: 'published' }),
      await agent.details(context, { status: 'draft' }),
    ];
    for (const answer of answers) has(answer, { ...config, resolvedVersionId: v1 });
  });
  await check('agent: the record names its author and workspace, and dates in UTC with milliseconds', async () => {
    const record = await agent.details();
    assert.ok(record.authorId && record.workspaceId);
    assert.match(record.createdAt, ISO_UTC_MILLISECONDS);
    assert.match(record.updatedAt, ISO_UTC_MILLISECONDS);
  });
  await check('agent: the first version names the fields that are set', async () => {
    const version = await agent.getVersion(v1);
    has(version, { agentId: id, versionNumber: 1, changeMessage: 'Initial version', ...config });
    assert.deepEqual(sorted(version.changedFields), sorted(Object.keys(config)));
    assert.ok(!('status' in version));
  });
  await check('agent: the only version cannot be deleted, not even of a draft', async () => {
    const draft = await createAgent({ id: own('single'), name: 'S', instructions: 's', autoPublish: false });
    has(draft, { status: 'draft', activeVersionId: null, hasDraft: true });
    await refused(() => client.getStoredAgent(draft.id).deleteVersion(draft.latestVersionId), 400);
  });
  await check('agent: without an id the name gives one', async () => {
    const record = await createAgent({ name: `Npm ${RUN}: Écho Bot!`, instructions: 'x' });
    assert.equal(record.id, `npm-${RUN}-cho-bot`);
  });

  const drafted = await check('agent: update saves an inactive draft and answers with it', async () => {
    const record = await agent.update({ instructions: 'Zweite Fassung', description: null });
    has(record, { instructions: 'Zweite Fassung', status: 'published', activeVersionId: v1, hasDraft: true });
    assert.equal(record.description ?? null, null);
    assert.equal(record.resolvedVersionId, record.latestVersionId);
    assert.notEqual(record.latestVersionId, v1);
    return record;
  });
  const v2 = drafted?.latestVersionId;

  await check('agent: a draft leaves what is published as it was, status draft reads it', async () => {
    has(await agent.details(), { instructions: config.instructions, description: config.description });
    has(await agent.details(undefined, { status: 'draft' }), { instructions: 'Zweite Fassung', resolvedVersionId: v2 });
  });
  await check('agent: an update names exactly the fields that changed, and has a default message', async () => {
    const version = await agent.getVersion(v2, context);
    assert.deepEqual(sorted(version.changedFields), ['description', 'instructions']);
    has(version, { versionNumber: 2, changeMessage: 'Auto-saved after edit', authorId: created.authorId });
    has(version, { name: config.name, memory: config.memory });
  });
  await check('agent: metadata is merged, null removes a key, and no version is made', async () => {
    const record = await agent.update({ metadata: { team: null, color: 'grün' } });
    assert.deepEqual(record.metadata, { ...MINE, keep: 1, color: 'grün' });
    assert.equal(record.latestVersionId, v2);
    assert.equal((await agent.listVersions()).total, 2);
  });
  await check('agent: visibility belongs to the record, not to a version', async () => {
    has(await agent.update({ visibility: 'public' }), { visibility: 'public', latestVersionId: v2 });
    has(await agent.update({ visibility: 'private' }), { visibility: 'private', latestVersionId: v2 });
  });
  await check('agent: autoPublish with nothing new publishes the latest version', async () => {
    const record = await agent.update({ autoPublish: true });
    has(record, { activeVersionId: v2, latestVersionId: v2, hasDraft: false, status: 'published' });
    assert.equal((await agent.listVersions()).total, 2);
  });
  await check('agent: autoPublish with a change publishes the version that it makes', async () => {
    const record = await agent.update({ name: 'Dritte', autoPublish: true, changeMessage: 'Für alle' });
    assert.notEqual(record.activeVersionId, v2);
    assert.equal(record.activeVersionId, record.latestVersionId);
    const version = await agent.getVersion(record.activeVersionId);
    has(version, { versionNumber: 3, changedFields: ['name'], changeMessage: 'Für alle' });
    has(await agent.details(), { name: 'Dritte', instructions: 'Zweite Fassung' });
  });
  await check('agent: activate rolls back to an old version, which stays one of three', async () => {
    has(await agent.activateVersion(v1), { success: true, activeVersionId: v1 });
    has(await agent.details(), { activeVersionId: v1, instructions: config.instructions, hasDraft: true });
    const { versions } = await agent.listVersions({ orderBy: { field: 'createdAt', direction: 'DESC' } });
    assert.deepEqual(numbers(versions), [3, 2, 1]);
    assert.deepEqual(versions.map((version) => version.state), ['draft', 'historical', 'published']);
  });
  await check('agent: the state of a version list follows the pointers, page by page', async () => {
    const one = await agent.listVersions({ page: 0, perPage: 2 });
    const two = await agent.listVersions({ page: 1, perPage: 2 }, context);
    assert.deepEqual([numbers(one.versions), one.total, one.hasMore], [[3, 2], 3, true]);
    assert.deepEqual([numbers(two.versions), two.total, two.hasMore], [[1], 3, false]);
    assert.equal(two.versions[0].state, 'published');
  });
  await check('agent: createVersion keeps a copy of the active configuration, inactive', async () => {
    const version = await agent.createVersion({ changeMessage: 'Sicherung' });
    has(version, { agentId: id, versionNumber: 4, changeMessage: 'Sicherung', ...config });
    assert.deepEqual(sorted(version.changedFields), ['description', 'instructions', 'name']);
    assert.equal((await agent.details()).activeVersionId, v1);
  });
  await check('agent: restore makes a new draft of the whole configuration', async () => {
    const version = await agent.restoreVersion(v2);
    has(version, { versionNumber: 5, name: config.name, instructions: 'Zweite Fassung', memory: config.memory });
    assert.equal(version.changeMessage, 'Restored from version 2');
    has(await agent.details(), { activeVersionId: v1, latestVersionId: version.id });
  });
  await check('agent: compare gives previous and current values of top-level fields', async () => {
    const { diffs, fromVersion, toVersion } = await agent.compareVersions(v1, v2);
    assert.deepEqual(sorted(diffs.map((diff) => diff.field)), ['description', 'instructions']);
    const text = diffs.find((diff) => diff.field === 'instructions');
    has(text, { previousValue: config.instructions, currentValue: 'Zweite Fassung' });
    assert.deepEqual([fromVersion.id, toVersion.id], [v1, v2]);
  });
  await check('agent: deleting a version leaves the others, the active one is refused', async () => {
    has(await agent.deleteVersion(v2), { success: true });
    await refused(() => agent.getVersion(v2), 404);
    await refused(() => agent.compareVersions(v1, v2), 404);
    await refused(() => agent.deleteVersion(v1), 400);
    assert.deepEqual(numbers((await agent.listVersions()).versions), [5, 4, 3, 1]);
  });
  await check('agent: saves at the same time are all kept, with consecutive numbers', async () => {
    const names = ['eins', 'zwei', 'drei', 'vier'];
    await Promise.all(names.map((name) => agent.update({ name })));
    const { versions } = await agent.listVersions({ perPage: 4 });
    assert.deepEqual(numbers(versions), [9, 8, 7, 6]);
    assert.deepEqual(sorted(versions.map((version) => version.name)), sorted(names));
    assert.equal((await agent.details()).activeVersionId, v1);
  });

  await check('export: the stored configuration as canonical text, the same bytes each time', async () => {
    const before = await agent.listVersions();
    const file = await agent.export();
    has(file, { agentId: id, fileName: `agents/${id}.json` });
    assert.equal(file.content, `${JSON.stringify(byCodePoint(file.config), null, 2)}\n`);
    has(file.config, config);
    assert.equal((await agent.export()).content, file.content);
    assert.equal((await agent.listVersions()).total, before.total, 'nothing is stored');
  });
  await check('export: fields that are sent are exported instead, anything else is left out', async () => {
    const file = await agent.export({ instructions: 'Nur dies \u2013 🙂', visibility: 'public', bogus: 1 });
    assert.deepEqual(file.config, { instructions: 'Nur dies \u2013 🙂' });
    assert.equal(file.content, '{\n  "instructions": "Nur dies \u2013 🙂"\n}\n');
    assert.equal((await agent.details()).instructions, config.instructions);
  });
  await check('agent: delete removes it with its versions, and the id starts again at version 1', async () => {
    has(await agent.delete(), { success: true });
    await refused(() => agent.details(), 404);
    await refused(() => client.getAgent(id).details(), 404);
    await createAgent({ id, ...config });
    const { versions } = await agent.listVersions();
    assert.deepEqual(numbers(versions), [1]);
    await refused(() => agent.getVersion(v1), 404);
  });
}

async function storedAgentLists() {
  const [a, b, c] = [own('list-a'), own('list-b'), own('list-c')];
  const metadata = { ...MINE, list: 'ägenten' };
  const author = await check('agent list: published ones by default, newest first', async () => {
    const common = { instructions: 'x' };
    const { authorId } = await createAgent({ ...common, id: a, name: 'A', metadata: { ...metadata, rank: 1 } });
    await sleep(5);
    await createAgent({ ...common, id: b, name: 'B', metadata: { ...metadata, rank: 2 }, visibility: 'public' });
    await sleep(5);
    await createAgent({ ...common, id: c, name: 'C', metadata: { ...metadata, rank: 3 }, autoPublish: false });
    const { agents, total, page, perPage, hasMore } = await client.listStoredAgents({ metadata });
    assert.deepEqual(ids(agents), [b, a]);
    assert.deepEqual({ total, page, perPage, hasMore }, { total: 2, page: 0, perPage: 100, hasMore: false });
    has(agents[0], { name: 'B', status: 'published', visibility: 'public', hasDraft: false });
    return authorId;
  });
  await check('agent list: status draft means no active version, all means all', async () => {
    assert.deepEqual(ids((await client.listStoredAgents({ metadata, status: 'draft' })).agents), [c]);
    assert.deepEqual(ids((await client.listStoredAgents({ metadata, status: 'published' })).agents), [b, a]);
    assert.deepEqual(ids((await client.listStoredAgents({ metadata, status: 'all' })).agents), [c, b, a]);
  });
  await check('agent list: page and perPage, with total and hasMore; perPage 0 only counts', async () => {
    const one = await client.listStoredAgents({ metadata, status: 'all', page: 0, perPage: 2 });
    const two = await client.listStoredAgents({ metadata, status: 'all', page: 1, perPage: 2 });
    const none = await client.listStoredAgents({ metadata, status: 'all', perPage: 0 });
    assert.deepEqual([ids(one.agents), one.total, one.perPage, one.hasMore], [[c, b], 3, 2, true]);
    assert.deepEqual([ids(two.agents), two.total, two.page, two.hasMore], [[a], 3, 1, false]);
    assert.deepEqual([none.agents, none.total], [[], 3]);
  });
  await check('agent list: orderBy createdAt and updatedAt', async () => {
    const order = async (field, direction) =>
      ids((await client.listStoredAgents({ metadata, status: 'all', orderBy: { field, direction } })).agents);
    assert.deepEqual(await order('createdAt', 'ASC'), [a, b, c]);
    await sleep(5);
    await client.getStoredAgent(a).update({ name: 'A, neuer' });
    assert.deepEqual(await order('updatedAt', 'DESC'), [a, c, b]);
    assert.deepEqual(await order('createdAt', 'DESC'), [c, b, a]);
  });
  await check('agent list: authorId, visibility and metadata filter, one by one and together', async () => {
    const found = async (params) =>
      ids((await client.listStoredAgents({ status: 'all', metadata, ...params })).agents);
    assert.deepEqual(await found({ authorId: author }), [c, b, a]);
    assert.deepEqual(await found({ authorId: own('nobody') }), []);
    assert.deepEqual(await found({ visibility: 'public' }), [b]);
    assert.deepEqual(await found({ visibility: 'private' }), [c, a]);
    assert.deepEqual(await found({ metadata: { ...metadata, rank: 1 } }), [a]);
    assert.deepEqual(await found({ metadata: { ...metadata, rank: 1 }, visibility: 'public' }), []);
    assert.deepEqual(await found({ metadata: { ...metadata, rank: 'eins' } }), []);
  });
}

async function dependents() {
  const helper = own('helper');
  const agent = client.getStoredAgent(helper);
  const rules = { operator: 'AND', conditions: [{ field: 'plan', operator: 'equals', value: 'pro' }] };

  await check('dependents: none yet, and nothing hidden', async () => {
    await createAgent({ id: helper, name: 'Hilfe', instructions: 'x' });
    assert.deepEqual(await agent.dependents(), { dependents: [], hiddenCount: 0 });
  });
  await check('dependents: published agents that refer to it, conditionally too, but no drafts', async () => {
    const refersTo = (value) => ({ instructions: 'x', agents: value });
    const plain = { [helper]: { description: 'für Fragen' } };
    await createAgent({ id: own('lead'), name: 'Leitung', ...refersTo(plain) });
    await createAgent({ id: own('lead-pro'), name: 'Leitung Pro', ...refersTo([{ value: { [helper]: {} }, rules }]) });
    await createAgent({ id: own('lead-draft'), name: 'Entwurf', ...refersTo(plain), autoPublish: false });
    const { dependents: found, hiddenCount } = await agent.dependents();
    assert.deepEqual(
      found.sort((a, b) => a.name.length - b.name.length),
      [
        { id: own('lead'), name: 'Leitung' },
        { id: own('lead-pro'), name: 'Leitung Pro' },
      ],
    );
    assert.equal(hiddenCount, 0);
  });
  await check('dependents: a reference to itself is a warning and does not count', async () => {
    const record = await agent.update({ agents: { [helper]: {} }, autoPublish: true });
    const warning = record.warnings.find(({ field }) => field.startsWith('agents'));
    assert.ok(warning.code && warning.message);
    assert.ok(!ids((await agent.dependents({ some: 'context' })).dependents).includes(helper));
  });
  await check('an unknown tool is a warning with code, field and message, not an error', async () => {
    const record = await createAgent({ id: own('tool'), name: 'T', instructions: 'x', tools: { [own('no')]: {} } });
    const warning = record.warnings.find(({ field }) => field.startsWith('tools'));
    assert.ok(warning.code && warning.message);
  });
}

// --- Resolved agents -------------------------------------------------------------------------------------------

async function resolution() {
  const id = own('resolved');
  const blockId = own('voice');
  const voice = client.getStoredPromptBlock(blockId);
  const stored = client.getStoredAgent(id);
  const agent = client.getAgent(id);
  const pro = { operator: 'AND', conditions: [{ field: 'plan', operator: 'equals', value: 'pro' }] };
  const instructions = [
    { type: 'text', content: 'Du hilfst {{ user.name || "Gästen" }} \u2013 nai\u0308v, 日本語 🙂.' },
    { type: 'prompt_block_ref', id: blockId },
    { type: 'prompt_block', content: 'Pläne: {{ plans }} {{ missing.path }}', rules: pro },
    { type: 'text', content: ' \n ' },
    { type: 'text', content: "Ende, {{ nobody || 'ohne Namen' }}." },
  ];
  const opening = (name) => `Du hilfst ${name} \u2013 nai\u0308v, 日本語 🙂.`;
  const ending = 'Ende, ohne Namen.';
  const text = (...parts) => parts.join('\n\n');

  await check('a draft may hold an unpublished block, publishing it names the block', async () => {
    await createBlock({ id: blockId, name: 'Stimme', content: 'Sprich leise.' });
    const draft = await createAgent({
      id,
      name: 'Aufgelöst',
      description: 'Für alle',
      instructions,
      defaultOptions: [{ value: { maxSteps: 2, kept: 'ja' } }, { value: { maxSteps: 5 }, rules: pro }],
      autoPublish: false,
    });
    const body = await refused(() => stored.activateVersion(draft.latestVersionId), 400, { field: /./ });
    assert.ok(JSON.stringify(body).includes(blockId));
    await refused(() => client.createStoredAgent({ id: own('x'), name: 'X', instructions }), 400, { field: /^instr/ });
    assert.equal((await stored.details()).status, 'draft');
  });
  await check('published without an active version falls back to the latest and says so', async () => {
    const answer = await agent.details();
    assert.equal(answer.resolvedVersionId, (await stored.details()).latestVersionId);
    assert.ok(answer.fallback.code && answer.fallback.message);
    assert.equal(answer.activeVersionId, null);
  });
  const active = await check('blocks are resolved byte for byte, blank and non-matching ones left out', async () => {
    await voice.activateVersion((await voice.details()).latestVersionId);
    const { latestVersionId } = await stored.details();
    await stored.activateVersion(latestVersionId);
    const answer = await agent.details();
    const expected = text(opening('Gästen'), 'Sprich leise.', ending);
    assert.ok(Buffer.from(answer.instructions).equals(Buffer.from(expected)), answer.instructions);
    has(answer, { resolvedVersionId: latestVersionId, activeVersionId: latestVersionId, fallback: null });
    return latestVersionId;
  });
  await check('the answer says what the agent is: source, model, status, metadata', async () => {
    has(await agent.details(), {
      id,
      name: 'Aufgelöst',
      description: 'Für alle',
      source: 'stored',
      status: 'published',
      provider: 'echo',
      modelId: 'echo',
      metadata: MINE,
    });
  });
  await check('the answer lists the blocks with the version shown', async () => {
    const { blocks } = await agent.details();
    const shown = blocks.find((block) => block.id === blockId);
    has(shown, { versionId: (await voice.details()).activeVersionId, shown: true });
  });
  await check('a request context fills the templates and decides the rules', async () => {
    const answer = await agent.details({ user: { name: 'Zoë' }, plan: 'pro', plans: ['ä', { n: 1 }] });
    const filled = 'Pläne: ["ä",{"n":1}] {{ missing.path }}';
    assert.equal(answer.instructions, text(opening('Zoë'), 'Sprich leise.', filled, ending));
  });
  await check('variants merge shallowly in order, as far as their rules match', async () => {
    assert.deepEqual((await agent.details()).defaultOptions, { maxSteps: 2, kept: 'ja' });
    assert.deepEqual((await agent.details({ plan: 'pro' })).defaultOptions, { maxSteps: 5, kept: 'ja' });
    assert.deepEqual((await agent.details({ plan: 'Pro' })).defaultOptions, { maxSteps: 2, kept: 'ja' });
  });
  await check('a draft of a block is seen by status draft only', async () => {
    await voice.update({ content: 'Sprich laut: ﬀ É' });
    const published = text(opening('Gästen'), 'Sprich leise.', ending);
    assert.equal((await agent.details()).instructions, published);
    const draft = await client.getAgent(id, { status: 'draft' }).details();
    assert.equal(draft.instructions, text(opening('Gästen'), 'Sprich laut: ﬀ É', ending));
  });
  const draft = await check('status draft gives the latest; published and no selector, the active one', async () => {
    const plain = 'Nur Text mit {{ name }} und {{ x || "y" }}, so wie er ist.';
    const { latestVersionId } = await stored.update({ instructions: plain });
    has(await client.getAgent(id, { status: 'draft' }).details(), {
      instructions: plain,
      resolvedVersionId: latestVersionId,
      activeVersionId: active,
    });
    for (const answer of [await agent.details(), await client.getAgent(id, { status: 'published' }).details()]) {
      has(answer, { resolvedVersionId: active, instructions: text(opening('Gästen'), 'Sprich leise.', ending) });
    }
    return latestVersionId;
  });
  await check('versionId gives exactly that version, active or not, with a request context too', async () => {
    const asked = client.getAgent(id, { versionId: draft });
    has(await asked.details({ name: 'Zoë' }), {
      instructions: 'Nur Text mit {{ name }} und {{ x || "y" }}, so wie er ist.',
      resolvedVersionId: draft,
    });
    assert.equal((await client.getAgent(id, { versionId: active }).details()).resolvedVersionId, active);
  });
  await check('the computed labels name the active and the latest version', async () => {
    assert.equal((await client.getAgent(id, { label: 'production' }).details()).resolvedVersionId, active);
    assert.equal((await client.getAgent(id, { label: 'latest' }).details()).resolvedVersionId, draft);
    await refused(() => client.getAgent(id, { label: 'none-such' }).details(), 404);
  });
  await check('a publish is seen by the next read', async () => {
    await stored.activateVersion(draft);
    assert.equal((await agent.details()).resolvedVersionId, draft);
    await stored.activateVersion(active);
    assert.equal((await agent.details()).resolvedVersionId, active);
  });
  await check('two selectors are 400, an unknown status is 400, a foreign version is 404', async () => {
    await refused(() => client.getAgent(id, { status: 'draft', versionId: draft }).details(), 400);
    await refused(() => client.getAgent(id, { status: 'archived' }).details(), 400, { field: 'status' });
    const foreign = (await voice.details()).latestVersionId;
    await refused(() => client.getAgent(id, { versionId: foreign }).details(), 404);
    await refused(() => client.getAgent(id, { versionId: NO_SUCH_VERSION }).details(), 404);
  });

  await check('listAgents gives resolved agents by id, code-defined ones included', async () => {
    const agents = await client.listAgents();
    has(agents[id], { id, name: 'Aufgelöst', source: 'stored', resolvedVersionId: active });
    assert.equal(agents[id].instructions, text(opening('Gästen'), 'Sprich leise.', ending));
    for (const name of ['support', 'supervisor']) has(agents[name], { id: name, source: 'code' });
  });
  await check('listAgents with a request context resolves in it', async () => {
    const agents = await client.listAgents({ user: { name: 'Zoë' } });
    assert.equal(agents[id].instructions, text(opening('Zoë'), 'Sprich leise.', ending));
  });
  await check('listAgents with partial gives the same agents, shorter', async () => {
    const whole = await client.listAgents();
    const short = await client.listAgents({ plan: 'pro' }, true);
    assert.deepEqual(sorted(Object.keys(short)), sorted(Object.keys(whole)));
    assert.equal(short[id].name, 'Aufgelöst');
    for (const record of Object.values(short)) assert.ok(!('instructions' in record) && !('blocks' in record));
  });
  await check('a block that is gone is left out of the text and reported', async () => {
    await voice.delete();
    const answer = await agent.details();
    assert.equal(answer.instructions, text(opening('Gästen'), ending));
    const gone = answer.blocks.find((block) => block.id === blockId);
    assert.equal(gone.shown, false);
    assert.ok(gone.reason);
  });
}

// --- Ids with a slash ------------------------------------------------------------------------------------------

async function folders() {
  const id = `team-${RUN}/support`;
  const stored = client.getStoredAgent(id);
  const agent = client.getAgent(id); // sends the slash as it is, where StoredAgent encodes it

  const v1 = await check('an id may hold a slash: created, located and read under both spellings', async () => {
    const record = await createAgent({ id, name: 'Ordner', instructions: 'Eins' }, watched);
    assert.ok(decodeURIComponent(lastAnswer.headers.get('location')).endsWith(`/stored/agents/${id}`));
    assert.equal((await stored.details()).id, id);
    has(await agent.details(), { id, instructions: 'Eins', resolvedVersionId: record.activeVersionId });
    return record.activeVersionId;
  });
  const v2 = await check('slash: draft and versionId are read without encoding', async () => {
    const { latestVersionId } = await stored.update({ instructions: 'Zwei' });
    assert.equal((await client.getAgent(id, { status: 'draft' }).details()).instructions, 'Zwei');
    assert.equal((await client.getAgent(id, { versionId: latestVersionId }).details({})).instructions, 'Zwei');
    assert.equal((await agent.details({ plan: 'pro' })).instructions, 'Eins');
    return latestVersionId;
  });
  await check('slash: the version methods of Agent list, read and compare', async () => {
    const order = { orderBy: { field: 'versionNumber', direction: 'ASC' }, page: 0, perPage: 1 };
    const page = await agent.listVersions(order, { some: 'context' });
    assert.deepEqual([ids(page.versions), page.total, page.hasMore], [[v1], 2, true]);
    has(await agent.getVersion(v2), { agentId: id, instructions: 'Zwei', changedFields: ['instructions'] });
    const { diffs } = await agent.compareVersions(v1, v2);
    assert.deepEqual(diffs.map(({ field, previousValue, currentValue }) => [field, previousValue, currentValue]), [
      ['instructions', 'Eins', 'Zwei'],
    ]);
  });
  await check('slash: the version methods of Agent create, activate, restore and delete', async () => {
    has(await agent.activateVersion(v2), { success: true, activeVersionId: v2 });
    const copy = await agent.createVersion({ changeMessage: 'Kopie' });
    has(copy, { agentId: id, versionNumber: 3, instructions: 'Zwei', changeMessage: 'Kopie', changedFields: [] });
    const restored = await agent.restoreVersion(v1);
    has(restored, { versionNumber: 4, instructions: 'Eins', changeMessage: 'Restored from version 1' });
    has(await agent.deleteVersion(copy.id), { success: true });
    await refused(() => agent.getVersion(copy.id), 404);
    has(await agent.details(), { resolvedVersionId: v2, instructions: 'Zwei' });
  });
  await check('slash: export encodes the file name, dependents answer', async () => {
    assert.equal((await stored.export()).fileName, `agents/team-${RUN}%2Fsupport.json`);
    assert.deepEqual(await stored.dependents(), { dependents: [], hiddenCount: 0 });
  });
  await check('slash: a block may have the same id as an agent, each with its own versions', async () => {
    await createBlock({ id, name: 'Block', content: 'Inhalt' });
    const block = client.getStoredPromptBlock(id);
    has(await block.details(), { id, content: 'Inhalt', status: 'draft' });
    assert.deepEqual(numbers((await block.listVersions()).versions), [1]);
    await refused(() => block.getVersion(v1), 404);
    has(await block.delete(), { success: true });
    assert.equal((await stored.details()).id, id);
  });
  await check('an id may be written in any script, with a slash and a space', async () => {
    const spoken = `équipe ${RUN}/日本語 🙂`;
    await createAgent({ id: spoken, name: 'Schrift', instructions: 'hier' });
    assert.equal((await client.getStoredAgent(spoken).details()).id, spoken);
    has(await client.getAgent(spoken).details(), { id: spoken, instructions: 'hier' });
    assert.equal((await client.getAgent(spoken).listVersions()).total, 1);
    assert.equal((await client.getStoredAgent(spoken).export()).fileName, `agents/${encodeURIComponent(spoken)}.json`);
  });
}

// --- Code-defined agents ---------------------------------------------------------------------------------------

async function codeDefined() {
  const agent = client.getAgent('support');
  const stored = client.getStoredAgent('support');
  const drafts = client.getAgent('support', { status: 'draft' });
  if ((await agent.listVersions()).total > 0) {
    console.log('# The code-defined agent "support" has an override already, which is left alone: no checks here.');
    return;
  }

  const code = await check('code: without an override every status reads the code-defined agent', async () => {
    const answer = await agent.details();
    has(answer, { id: 'support', source: 'code', provider: 'echo', modelId: 'echo' });
    assert.ok(answer.instructions && answer.name);
    assert.equal((await drafts.details()).instructions, answer.instructions);
    return answer;
  });
  await check('code: without an override versions are an empty list, the record is 404, dependents are listed', async () => {
    const { versions, total, hasMore } = await agent.listVersions({ page: 0, perPage: 5 });
    assert.deepEqual({ versions, total, hasMore }, { versions: [], total: 0, hasMore: false });
    await refused(() => stored.details(), 404);
    assert.deepEqual(ids((await stored.dependents()).dependents), ['supervisor']);
  });
  await check('code: export without an override is 404 no_override, with fields only what one may hold', async () => {
    await refused(() => stored.export(), 404, { code: 'no_override' });
    const file = await stored.export({ name: 'X', model: ECHO, instructions: 'Überschrieben' });
    has(file, { agentId: 'support', fileName: 'agents/support.json' });
    assert.deepEqual(file.config, { instructions: 'Überschrieben' });
    assert.equal((await agent.listVersions()).total, 0);
  });
  const v1 = await check('code: an override is a draft first, published stays the code', async () => {
    const record = await createAgent({ id: 'support', instructions: 'Erste \u2013 ü', model: undefined });
    has(record, { id: 'support', status: 'draft', activeVersionId: null, hasDraft: true });
    assert.equal((await agent.details()).instructions, code.instructions);
    assert.equal((await drafts.details()).instructions, 'Erste \u2013 ü');
    return record.latestVersionId;
  });
  await check('code: activating the override changes the instructions, name and model stay the code’s', async () => {
    has(await agent.activateVersion(v1), { success: true, activeVersionId: v1 });
    has(await agent.details(), {
      instructions: 'Erste \u2013 ü',
      name: code.name,
      provider: code.provider,
      resolvedVersionId: v1,
    });
  });
  const v2 = await check('code: a draft of the override is read by status and by versionId only', async () => {
    const { latestVersionId } = await stored.update({ instructions: 'Zweite' });
    assert.equal((await agent.details()).instructions, 'Erste \u2013 ü');
    assert.equal((await drafts.details()).instructions, 'Zweite');
    const exact = client.getAgent('support', { versionId: latestVersionId });
    has(await exact.details(), { instructions: 'Zweite', resolvedVersionId: latestVersionId, activeVersionId: v1 });
    return latestVersionId;
  });
  await check('code: versions of the override are read, compared, copied, restored and deleted', async () => {
    has(await agent.getVersion(v2), { agentId: 'support', versionNumber: 2, changedFields: ['instructions'] });
    const { diffs } = await agent.compareVersions(v1, v2);
    assert.deepEqual(diffs.map((diff) => diff.field), ['instructions']);
    const copy = await agent.createVersion({ changeMessage: 'Kopie' });
    has(copy, { versionNumber: 3, instructions: 'Erste \u2013 ü', changeMessage: 'Kopie' });
    const restored = await agent.restoreVersion(v2);
    has(restored, { versionNumber: 4, instructions: 'Zweite' });
    has(await agent.deleteVersion(copy.id), { success: true });
    await refused(() => agent.deleteVersion(v1), 400);
    assert.deepEqual(numbers((await agent.listVersions()).versions), [4, 2, 1]);
    assert.equal((await agent.details()).resolvedVersionId, v1);
  });
  await check('code: a field that an override never applies is kept and named in the warnings', async () => {
    const record = await stored.update({ description: 'Nie angewandt' });
    assert.equal(record.description, 'Nie angewandt');
    const warning = record.warnings.find(({ field }) => field === 'description');
    assert.equal(warning.code, 'not_applied');
  });
  await check('code: export of the override holds the allowed fields alone', async () => {
    const { config, content } = await stored.export();
    assert.deepEqual(config, { instructions: 'Erste \u2013 ü' });
    assert.equal(content, '{\n  "instructions": "Erste \u2013 ü"\n}\n');
  });
  await check('code: deleting the override brings the code back', async () => {
    has(await stored.delete(), { success: true });
    has(await agent.details(), { source: 'code', instructions: code.instructions });
    assert.equal((await agent.listVersions()).total, 0);
  });
}

// --- Running ---------------------------------------------------------------------------------------------------

/** The chunks of a stream, as the client hands them over. */
async function streamed(agent, messages, options) {
  const chunks = [];
  const response = await agent.stream(messages, options);
  await response.processDataStream({ onChunk: async (chunk) => void chunks.push(chunk) });
  return chunks;
}

const kinds = (chunks) => chunks.map(({ type }) => type).filter((type, at, all) => type !== all[at - 1]);
const textOf = (chunks) => chunks.map(({ type, payload }) => (type === 'text-delta' ? payload.text : '')).join('');

const STEP_WITH_TEXT = ['step-start', 'text-start', 'text-delta', 'text-end', 'step-finish'];
const STEP_WITH_DELEGATION = ['step-start', 'tool-call', 'tool-result', 'step-finish'];

async function running() {
  const id = own('asked');
  const leadId = own('team/lead');
  const agent = client.getAgent(id);
  const lead = client.getAgent(leadId);
  const question = 'Wo ist nai\u0308v \u2013 日本語 🙂?\n\ndata: [DONE]';
  const draftOf = (agentId) => ({ agents: { [agentId]: { status: 'draft' } } });

  const versions = await check('run: a stored agent answers with its published version', async () => {
    const { activeVersionId: published } = await createAgent({ id, name: 'Gefragt', instructions: 'Erste Fassung' });
    const { latestVersionId: draft } = await client.getStoredAgent(id).update({ instructions: 'Zweite Fassung' });
    const answer = await agent.generate(question);
    has(answer, { text: `Erste Fassung\n\n${question}`, finishReason: 'stop', warnings: [], toolCalls: [] });
    assert.deepEqual(answer.resolvedVersions, { [id]: published });
    assert.deepEqual(sorted(Object.keys(answer.usage)), ['cost', 'inputTokens', 'outputTokens', 'totalTokens']);
    assert.ok(answer.runId && answer.steps.length === 1);
    return { published, draft };
  });
  await check('run: versions in the body select a draft, an exact version or a label', async () => {
    const exact = { agents: { [id]: { versionId: versions.draft } } };
    for (const selected of [draftOf(id), exact, { self: { status: 'draft' } }, { self: { label: 'latest' } }]) {
      const answer = await agent.generate('hallo', { versions: selected });
      assert.equal(answer.text, 'Zweite Fassung\n\nhallo');
      assert.deepEqual(answer.resolvedVersions, { [id]: versions.draft });
    }
    assert.equal((await agent.generate('hallo')).text, 'Erste Fassung\n\nhallo');
  });
  await check('run: a conversation, a request context, other instructions', async () => {
    const answer = await agent.generate('hallo');
    const messages = [...answer.messages, { role: 'user', content: 'und jetzt?' }];
    assert.equal((await agent.generate(messages)).text, 'Erste Fassung\n\nund jetzt?');
    const instructions = 'Andere Anweisung';
    assert.equal((await agent.generate('hallo', { instructions })).text, `${instructions}\n\nhallo`);
    const told = own('told');
    await createAgent({ id: told, name: 'T', instructions: [{ type: 'text', content: 'Für {{ user.name }}' }] });
    const context = { user: { name: 'Zoë' } };
    assert.equal((await client.getAgent(told).generate('?', { requestContext: context })).text, 'Für Zoë\n\n?');
  });
  await check('run: the chunks of a stream come in order and say what generate answers', async () => {
    const chunks = await streamed(agent, question, { versions: draftOf(id) });
    assert.deepEqual(kinds(chunks), ['start', ...STEP_WITH_TEXT, 'finish']);
    assert.equal(textOf(chunks), `Zweite Fassung\n\n${question}`);
    const { payload } = chunks.at(-1);
    has(payload, { finishReason: 'stop', resolvedVersions: { [id]: versions.draft }, warnings: [] });
    assert.ok(payload.usage.totalTokens > 0);
    assert.ok(chunks.every((chunk) => chunk.from === 'AGENT' && chunk.runId === chunks[0].runId));
  });
  await check('run: a lead delegates, and the draft of its sub-agent runs only when it is asked for', async () => {
    await createAgent({ id: leadId, name: 'Leitung', instructions: 'Leite', agents: { [id]: {} } });
    const said = (words) => `Leite\n\nhallo\n\n${words}\n\nhallo`;
    assert.equal((await lead.generate('hallo')).text, said('Erste Fassung'));
    for (const selected of [draftOf(id), { defaultStatus: 'draft' }]) {
      const answer = await lead.generate('hallo', { versions: selected });
      assert.equal(answer.text, said('Zweite Fassung'));
      assert.equal(answer.resolvedVersions[id], versions.draft);
      const chunks = await streamed(lead, 'hallo', { versions: selected });
      assert.equal(textOf(chunks), said('Zweite Fassung'));
      assert.deepEqual(kinds(chunks), ['start', ...STEP_WITH_DELEGATION, ...STEP_WITH_TEXT, 'finish']);
    }
    const values = { requestContext: { versions: draftOf(id) } };
    assert.equal((await lead.generate('hallo', values)).text, said('Zweite Fassung'));
    assert.equal((await lead.generate('hallo')).text, said('Erste Fassung'));
  });
  await check('run: the code-defined support answers, and supervisor asks it first', async () => {
    const support = await client.getAgent('support').generate('Wo ist 7?');
    const supervisor = await client.getAgent('supervisor').generate('Wo ist 7?');
    assert.ok(support.text.endsWith('\n\nWo ist 7?'));
    assert.ok(supervisor.text.endsWith(`\n\nWo ist 7?\n\n${support.text}`));
    assert.deepEqual(sorted(Object.keys(supervisor.resolvedVersions)), ['supervisor', 'support']);
    assert.deepEqual(supervisor.toolResults.map(({ result }) => result), [support.text]);
    const chunks = await streamed(client.getAgent('supervisor'), 'Wo ist 7?');
    assert.deepEqual(kinds(chunks), ['start', ...STEP_WITH_DELEGATION, ...STEP_WITH_TEXT, 'finish']);
    assert.equal(textOf(chunks), supervisor.text);
    assert.equal(textOf(await streamed(client.getAgent('support'), 'Wo ist 7?')), support.text);
  });
  await check('run: a version that cannot be resolved is a warning, with strict a 424', async () => {
    const gone = { agents: { support: { label: 'gone' }, [own('nobody')]: { status: 'draft' } } };
    const { warnings } = await client.getAgent('supervisor').generate('hallo', { versions: gone });
    const fields = warnings.map(({ field }) => field);
    assert.deepEqual(sorted(fields), sorted(['versions.agents.support', `versions.agents.${own('nobody')}`]));
    const chunks = await streamed(client.getAgent('supervisor'), 'hallo', { versions: gone });
    assert.deepEqual(chunks.at(-1).payload.warnings, warnings);
    const strict = { versions: { ...gone, strict: true } };
    await refused(() => client.getAgent('supervisor').generate('hallo', strict), 424);
  });
  await check('run: what is wrong with a call is refused by name, for generate and stream alike', async () => {
    const mute = own('mute');
    await createAgent({ id: mute, name: 'Stumm', instructions: 'x', model: undefined });
    for (const verb of ['generate', 'stream']) {
      const call = (agentId, messages, options) => () => client.getAgent(agentId)[verb](messages, options);
      await refused(call(own('nobody'), 'hallo'), 404);
      await refused(call(id, 'hallo', { versions: { self: { versionId: NO_SUCH_VERSION } } }), 404);
      await refused(call(id, ''), 400, { field: 'messages' });
      await refused(call(id, 'hallo', { bogus: 1 }), 400, { field: 'bogus' });
      const two = { agents: { [id]: { status: 'draft', label: 'x' } } };
      await refused(call(id, 'hallo', { versions: two }), 400, { field: `versions.agents.${id}` });
      await refused(call(mute, 'hallo'), 422, { code: 'no_model' });
    }
  });
}

// --- Errors ----------------------------------------------------------------------------------------------------

async function errors() {
  const id = own('errors');
  const agent = client.getStoredAgent(id);
  const whole = { name: 'E', instructions: 'x', model: ECHO };

  await check('error: 409 for an id that is taken', async () => {
    await createAgent({ id, ...whole });
    await refused(() => client.createStoredAgent({ id, ...whole }), 409);
  });
  await check('error: what is missing is 404, whatever is asked of it', async () => {
    const missing = client.getStoredAgent(own('missing'));
    const calls = [
      () => missing.details(),
      () => missing.update({ name: 'x' }),
      () => missing.dependents(),
      () => missing.export(),
      () => missing.listVersions(),
      () => missing.createVersion(),
      () => missing.activateVersion(NO_SUCH_VERSION),
      () => missing.restoreVersion(NO_SUCH_VERSION),
      () => missing.deleteVersion(NO_SUCH_VERSION),
      () => missing.compareVersions(NO_SUCH_VERSION, NO_SUCH_VERSION),
      () => missing.delete(),
      () => client.getAgent(own('missing')).details(),
      () => client.getStoredPromptBlock(own('missing')).details(),
      () => client.getStoredPromptBlock(own('missing')).update({ name: 'x' }),
      () => client.getStoredPromptBlock(own('missing')).delete(),
    ];
    for (const call of calls) await refused(call, 404);
  });
  await check('error: an unknown, malformed or foreign version id is 404 in every version method', async () => {
    const other = await createAgent({ id: own('errors-other'), ...whole });
    for (const versionId of [NO_SUCH_VERSION, 'nonsense', other.activeVersionId]) {
      await refused(() => agent.getVersion(versionId), 404);
      await refused(() => agent.activateVersion(versionId), 404);
      await refused(() => agent.restoreVersion(versionId), 404);
      await refused(() => agent.deleteVersion(versionId), 404);
      await refused(() => agent.compareVersions(versionId, versionId), 404);
    }
    assert.equal((await agent.listVersions()).total, 1);
  });
  await check('error: 400 names a required field that is missing or blank', async () => {
    const create = (fields) => () => client.createStoredAgent({ id: own('x'), ...fields });
    await refused(create({ instructions: 'x', model: ECHO }), 400, { field: 'name' });
    await refused(create({ name: 'X', model: ECHO }), 400, { field: 'instructions' });
    await refused(create({ ...whole, instructions: ' \n ' }), 400, { field: 'instructions' });
    await refused(() => agent.update({ name: null }), 400, { field: 'name' });
  });
  await check('error: 400 names a problem inside by its dotted path', async () => {
    const instructions = [{ type: 'text', content: 'x' }, { type: 'prompt_block_ref' }];
    await refused(() => agent.update({ instructions }), 400, { field: 'instructions.1.id' });
    await refused(() => agent.update({ metadata: 'text' }), 400, { field: 'metadata' });
  });
  await check('error: 400 names an unknown or read-only field, and saves nothing', async () => {
    for (const field of ['authorId', 'status', 'activeVersionId', 'id', 'workspaceId', 'bogus']) {
      await refused(() => agent.update({ name: 'anders', [field]: 'x' }), 400, { field });
    }
    const forged = { id: own('x'), ...whole, authorId: 'x' };
    await refused(() => client.createStoredAgent(forged), 400, { field: 'authorId' });
    await refused(() => agent.createVersion({ name: 'anders' }), 400, { field: 'name' });
    assert.equal((await agent.listVersions()).total, 1);
  });
  await check('a favorite is marked, listed and unmarked', async () => {
    assert.deepEqual((await client.listStoredAgents({ favoritedOnly: true })).agents, []);
    assert.deepEqual(await agent.favorite(), { favorited: true, favoriteCount: 1 });
    assert.deepEqual(await agent.favorite(), { favorited: true, favoriteCount: 1 });
    const [marked, ...others] = (await client.listStoredAgents({ favoritedOnly: true, status: 'all' })).agents;
    assert.deepEqual([marked.id, marked.isFavorited, marked.favoriteCount, others], [agent.storedAgentId, true, 1, []]);
    assert.deepEqual(await agent.unfavorite(), { favorited: false, favoriteCount: 0 });
    await refused(() => client.getStoredAgent(own('x')).favorite(), 404);
  });
  await check('error: 400 names a query parameter that is unknown or out of range', async () => {
    await refused(() => client.listStoredAgents({ perPage: 1001 }), 400, { field: 'perPage' });
    await refused(() => client.listStoredAgents({ page: -1 }), 400, { field: 'page' });
    await refused(() => client.listStoredAgents({ status: 'archived' }), 400, { field: 'status' });
    await refused(() => client.listStoredAgents({ metadata: { 'a-b': 1 } }), 400, { field: /^metadata/ });
    await refused(() => client.listStoredPromptBlocks({ orderBy: { field: 'name' } }), 400, { field: /^orderBy/ });
    await refused(() => agent.listVersions({ orderBy: { direction: 'UP' } }), 400, { field: /^orderBy/ });
    await refused(() => agent.details(undefined, { status: 'archived' }), 400, { field: 'status' });
  });
  await check('error: 400 for an id with an empty, dotted or reserved segment', async () => {
    for (const bad of ['a//b', '/a', 'a/', 'a/../b', 'versions', 'a/stream', ' a', 'a\u0000b', 'x'.repeat(201)]) {
      await refused(() => client.createStoredAgent({ id: bad, ...whole }), 400, { field: /^(id|body)$/ });
    }
  });
  await check('error: a change message is at most 500 characters long', async () => {
    const changeMessage = 'ä'.repeat(501);
    await refused(() => agent.update({ name: 'anders', changeMessage }), 400, { field: 'changeMessage' });
    await agent.update({ name: 'anders', changeMessage: changeMessage.slice(1) });
  });
  await check('error: 401 for a wrong key and for none', async () => {
    for (const headers of [{ Authorization: 'Bearer ek_wrong' }, {}]) {
      const stranger = new MastraClient({ ...connection, headers });
      await refused(() => stranger.listStoredAgents(), 401);
      await refused(() => stranger.getAgent(id).details(), 401);
      await refused(() => stranger.createStoredAgent({ id: own('x'), ...whole }), 401);
    }
  });
}

// --- Scorers ---------------------------------------------------------------------------------------------------

async function scorers() {
  const id = own('exact');
  const stored = client.getStoredScorer(id);
  const created = await client.createStoredScorer({ id, name: 'Exact', type: 'equals', description: 'Equal', metadata: MINE });
  made.push(stored);
  await check('scorers: made as drafts, changed, published and listed like the others', async () => {
    has(created, { id, status: 'draft', type: 'equals', activeVersionId: null });
    const { latestVersionId } = await stored.update({ defaultSampling: { type: 'ratio', rate: 0.5 } });
    assert.equal((await stored.activateVersion(latestVersionId)).activeVersionId, latestVersionId);
    has(await stored.details(undefined, { status: 'published' }), { id, defaultSampling: { type: 'ratio', rate: 0.5 } });
    const { versions } = await stored.listVersions();
    has(versions[0], { id: latestVersionId, scorerDefinitionId: id, versionNumber: 2 });
    const { diffs } = await stored.compareVersions(versions[1].id, versions[0].id);
    assert.deepEqual(diffs.map(({ field }) => field), ['defaultSampling']);
    has(await stored.getVersion(versions[1].id), { versionNumber: 1 });
    const [restored, copy] = [await stored.restoreVersion(versions[1].id), await stored.createVersion()];
    assert.deepEqual([restored.versionNumber, copy.versionNumber], [3, 4]);
    has(await stored.deleteVersion(restored.id), { success: true });
    assert.ok(ids((await client.listStoredScorers({ perPage: 1000 })).scorerDefinitions).includes(id));
  });
  await check('scorers: listed by id with the agents that name them', async () => {
    const agent = await createAgent({ name: 'Judged', id: own('judged'), instructions: 'x', scorers: { [id]: {} }, autoPublish: true });
    const one = (await client.listScorers({ tier: 'x' }))[id];
    has(one, { agentIds: [agent.id], agentNames: ['Judged'], workflowIds: [], isRegistered: true, source: 'stored' });
    has(one.scorer.config, { id, name: 'Exact', description: 'Equal', type: 'equals' });
    assert.deepEqual(await client.getScorer(id), one);
    await refused(() => client.getScorer(own('nothing')), 404);
  });
  await check('scores: sent with all that they say, and found by run, scorer and entity', async () => {
    const sent = { scorerId: id, runId: own('run'), entityId: own('team/a'), entityType: 'AGENT', score: 0.5, reason: 'So so' };
    const more = { scorer: { id }, source: 'LIVE', entity: { id: 'x' }, output: 'Hi', threadId: 't', analyzeStepResult: { a: 1 } };
    const { score } = await watched.saveScore({ score: { ...sent, ...more } });
    assert.equal(lastAnswer.status, 201);
    has(score, { ...sent, ...more });
    const lists = [
      client.listScoresByRunId({ runId: sent.runId }),
      client.listScoresByScorerId({ scorerId: id, entityId: sent.entityId, entityType: 'AGENT', perPage: 5 }),
      client.listScoresByEntityId({ entityId: sent.entityId, entityType: 'AGENT', page: 0 }),
    ];
    for (const list of lists) assert.deepEqual((await list).scores, [score]);
  });
}

// --- Datasets --------------------------------------------------------------------------------------------------

async function datasets() {
  const dataset = await client.createDataset({ name: own('table'), targetType: 'agent', targetIds: ['a'], inputSchema: null });
  const datasetId = dataset.id;
  made.push({ delete: () => client.deleteDataset(datasetId) });
  await check('datasets: made, found by their target, and changed', async () => {
    has(dataset, { version: 0, targetType: 'agent', targetIds: ['a'], inputSchema: null, description: null });
    const mine = await client.listDatasets({ targetType: 'agent', targetIds: ['a'], perPage: 50, orderBy: { field: 'name', direction: 'ASC' } });
    assert.ok(ids(mine.datasets).includes(datasetId));
    has(await client.updateDataset({ datasetId, tags: ['x'], groundTruthSchema: { type: 'string' } }), { tags: ['x'] });
    has(await client.getDataset(datasetId), { id: datasetId, tags: ['x'] });
    const refusal = await refused(() => client.addDatasetItem({ datasetId, input: 'a', groundTruth: 1 }), 400, { field: 'groundTruth' });
    has(refusal.failingItems[0], { index: 0, field: 'groundTruth', data: 1 });
  });
  await check('datasets: items are added, changed, deleted and read as they were', async () => {
    const { items, count } = await client.batchInsertDatasetItems({
      datasetId,
      items: [{ input: 'one', externalId: 'e1' }, { input: { q: 2 }, groundTruth: 'two', metadata: { tags: ['must'] } }],
    });
    assert.deepEqual([count, items.map((one) => one.datasetVersion)], [2, [1, 1]]);
    const [first, second] = items;
    await refused(() => client.addDatasetItem({ datasetId, input: 'other', externalId: 'e1' }), 409, { code: 'conflict' });
    const itemId = second.id;
    has(await client.updateDatasetItem({ datasetId, itemId, input: 'zwei' }), { id: itemId, input: 'zwei', datasetVersion: 2 });
    has(await client.getDatasetItem(datasetId, itemId), { input: 'zwei' });
    has(await client.getDatasetItemVersion(datasetId, itemId, 1), { input: { q: 2 } });
    const { history } = await client.getItemHistory(datasetId, itemId);
    assert.deepEqual(history.map(({ validTo, isDeleted }) => [validTo, isDeleted]), [[null, false], [2, false]]);
    assert.deepEqual((await client.listDatasetItems(datasetId, { search: 'zwei' })).pagination.total, 1);
    assert.deepEqual((await client.listDatasetItems(datasetId, { version: 1, perPage: 1 })).pagination.hasMore, true);
    has(await client.deleteDatasetItem(datasetId, first.id), { success: true });
    has(await client.batchDeleteDatasetItems({ datasetId, itemIds: [itemId] }), { success: true, deletedCount: 1 });
    has(await client.purgeDatasetItem(datasetId, itemId), { success: true });
    has(await client.getDatasetItemVersion(datasetId, itemId, 1), { input: null, metadata: { __purged: true } });
    assert.deepEqual((await client.listDatasetVersions(datasetId)).versions.map((one) => one.version), [4, 3, 2, 1]);
  });
  await check('datasets: what a model would do is not there', async () => {
    await refused(() => client.generateDatasetItems({ datasetId, modelId: 'a/b', prompt: 'x' }), 501, { code: 'not_implemented' });
    await refused(() => client.clusterFailures({ modelId: 'a/b', items: [] }), 501, { code: 'not_implemented' });
  });
}

// --- Experiments -----------------------------------------------------------------------------------------------

async function experiments() {
  const dataset = await client.createDataset({ name: own('questions') });
  made.push({ delete: () => client.deleteDataset(dataset.id) });
  const datasetId = dataset.id;
  const item = await client.addDatasetItem({ datasetId, input: 'Hello', groundTruth: 'Hello' });
  const { experimentId, status } = await client.createDatasetExperiment({ datasetId, name: 'By hand' });
  const sent = { datasetId, experimentId, itemId: item.id };
  await check('experiments: one whose results are sent is running, and is listed', async () => {
    assert.equal(status, 'running');
    has(await client.getDatasetExperiment(datasetId, experimentId), { id: experimentId, datasetId, totalItems: 1 });
    for (const list of [client.listExperiments(), client.listDatasetExperiments(datasetId)]) {
      assert.ok(ids((await list).experiments).includes(experimentId));
    }
  });
  await check('experiments: results are sent, reviewed and listed', async () => {
    const scores = [{ scorerId: 'people', score: 0.5 }];
    const result = await client.submitExperimentResult({ ...sent, output: 'Hello', scores });
    const changed = { status: 'reviewed', tags: ['tone'], comment: 'Good' };
    for (const change of [client.updateDatasetExperimentResult, client.updateExperimentResult]) {
      has(await change.call(client, { datasetId, experimentId, resultId: result.id, ...changed }), changed);
    }
    const { results, pagination } = await client.listDatasetExperimentResults(datasetId, experimentId);
    assert.deepEqual([ids(results), pagination.total], [[result.id], 1]);
    has(results[0], { itemId: item.id, output: 'Hello', attempt: 0 });
    const { counts } = await client.getExperimentReviewSummary();
    has(counts.find((one) => one.experimentId === experimentId), { total: 1, reviewed: 1 });
    const { scores: stored } = await client.listScoresByRunId({ runId: experimentId });
    has(stored[0], { scorerId: 'people', score: 0.5, entityId: item.id, source: 'TEST' });
  });
  await check('experiments: one with a target is run item by item, and beside another', async () => {
    const agent = await createAgent({ id: own('to-evaluate'), name: 'Asked', instructions: 'Answer.', autoPublish: true });
    const target = { datasetId, targetType: 'agent', targetId: agent.id, scorerIds: [own('exact')] };
    const { experimentId: here } = await client.createDatasetExperiment(target);
    const run = () => client.runExperimentItem({ datasetId, experimentId: here, itemId: item.id, requestContext: {} });
    const { result, scores } = await run();
    has(result, { itemId: item.id, experimentId: here, attempt: 0, error: null });
    assert.ok(result.output.includes('Hello'));
    has(scores[0], { scorerId: own('exact'), scorerName: 'Exact', score: 0, error: null });
    assert.equal((await run()).result.id, result.id);
    await refused(() => client.submitExperimentResult({ datasetId, experimentId: here, itemId: item.id }), 400);
    await refused(() => client.runExperimentItem({ ...sent, itemId: item.id }), 400);
    await refused(() => client.runExperimentItem({ datasetId, experimentId: here, itemId: NO_SUCH_VERSION }), 404);
    const both = { datasetId, experimentIdA: experimentId, experimentIdB: here };
    const { baselineId, items } = await client.compareExperiments(both);
    assert.equal(baselineId, experimentId);
    has(items[0], { itemId: item.id, input: 'Hello', groundTruth: 'Hello' });
    assert.deepEqual(items[0].results[experimentId], { output: 'Hello', scores: { people: 0.5 } });
    assert.deepEqual(items[0].results[here].scores, { [own('exact')]: 0 });
    await client.finalizeExperiment({ datasetId, experimentId: here });
    await refused(run, 409);
  });
  await check('experiments: one is described and ends', async () => {
    has(await client.updateDatasetExperiment({ datasetId, experimentId, name: 'Another' }), { name: 'Another' });
    has(await client.finalizeExperiment({ datasetId, experimentId }), { status: 'completed', succeededCount: 1 });
    await refused(() => client.submitExperimentResult({ ...sent, output: 'x' }), 409);
  });
  await check('experiments: they are deleted, with and without their dataset', async () => {
    const other = await client.createDatasetExperiment({ datasetId });
    has(await client.deleteDatasetExperiment(datasetId, experimentId), { success: true });
    has(await client.deleteExperiment(other.experimentId), { success: true });
    await refused(() => client.getDatasetExperiment(datasetId, experimentId), 404);
  });
  await check('experiments: without items, and with a target by half, one is refused', async () => {
    await refused(() => client.triggerDatasetExperiment({ datasetId, targetType: 'agent' }), 400, { field: 'targetId' });
    const nothing = await client.createDataset({ name: own('nothing') });
    made.push({ delete: () => client.deleteDataset(nothing.id) });
    await refused(() => client.createDatasetExperiment({ datasetId: nothing.id }), 400, { code: 'no_items' });
  });
}

// --- The run ---------------------------------------------------------------------------------------------------

// A section is an async function that states its facts with `check`.
const sections = [
  promptBlocks,
  promptBlockLists,
  storedAgents,
  storedAgentLists,
  dependents,
  resolution,
  folders,
  codeDefined,
  running,
  scorers,
  datasets,
  experiments,
  errors,
];

try {
  for (const section of sections) {
    console.log(`# ${section.name}`);
    try {
      await section();
    } catch (error) {
      await check(`${section.name} runs to its end`, () => Promise.reject(error));
    }
  }
} finally {
  await cleanUp();
}
if (failures) console.log(`# ${failures} failed`);
console.log(`${checks} checks`);
process.exit(failures ? 1 : 0);
