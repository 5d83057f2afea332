import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectFolder, runInside, type Finished } from './run-command.ts'

const config = (kind: string): string => `
  import { defineConfig } from '@looseleaf/cli'
  import { defineKind, typed } from '@looseleaf/kinds'
  const indexes = { byName: { by: [{ name: 'string' }] } }
  const person = defineKind('person', { schema: typed(), indexes, ${kind} })
  export default defineConfig({ shards: 'sqlite:data?shards=2', kinds: [person] })
`

test('init adds the indexes of kinds, and kind upgrade rewrites entities in an old shape', async () => {
  const cwd = projectFolder()
  let configs = 0
  // A file of its own for each config, because a process loads a module once.
  const configure = (kind: string): void =>
    writeFileSync(join(cwd, `looseleaf-${++configs}.config.ts`), config(kind))
  const run = (...args: string[]): Promise<Finished> =>
    runInside([...args, '--config', `looseleaf-${configs}.config.ts`], { cwd })
  configure('')
  expect(await run('init')).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringContaining('2 shards, 1 index'),
  })
  for (const first of ['Ada', 'Eve']) {
    expect((await run('put', JSON.stringify({ _kind: 'person', first }))).code).toBe(0)
  }
  configure('upgrades: [({ first }) => { if (first === "Eve") throw new Error(); return {} }]')
  const failing = await run('kind', 'upgrade', '--dry-run')
  expect(failing.code).toBe(1)
  expect(failing.stdout).toMatch(
    /^person: 1 to be upgraded\nFailed: [0-9a-f-]+: The person [0-9a-f-]+ cannot be brought from shape 0 to 1: its upgrade threw\.\n2 entities/,
  )
  configure('upgrades: [({ first, ...others }) => ({ ...others, name: first })]')
  expect((await run('query', 'person_by_name', 'name=Ada', '--json')).json()).toMatchObject({ items: [] })
  const filled = await run('index', 'add', 'person_by_name', '--fill')
  // A deployment fills its indexes before it upgrades entities.
  expect(filled.code).toBe(0)
  expect(filled.stderr).toContain(
    'Warning: 2 entities of kind person are stored in an older shape or without a default. Queries by the new values miss them until you run: looseleaf kind upgrade person\n',
  )
  expect((await run('kind', 'upgrade', '--json')).json()).toEqual({
    scanned: 2,
    upgraded: { person: 2 },
    failed: [],
  })
  expect((await run('index', 'add', 'person_by_name', '--fill', '--json')).json()).toMatchObject({
    behind: {},
  })
  expect((await run('query', 'person_by_name', 'name=Ada', '--json')).json()).toMatchObject({
    items: [{ properties: { _kind: 'person', _version: 1, name: 'Ada' } }],
  })
  const again = await run('kind', 'upgrade', 'person')
  expect(again.stdout).toBe('person: 0 upgraded\n2 entities of the store read.\n')
  const { code, stderr } = await run('kind', 'upgrade', 'persons')
  expect(code).toBe(2)
  expect(stderr).toContain('has no kind "persons"; it has person.')
})

test('the command fills the indexes of a renamed kind and rewrites its entities', async () => {
  const cwd = projectFolder()
  writeFileSync(join(cwd, 'old.config.ts'), config(''))
  const renamed = config("formerly: ['person']").replace("defineKind('person'", "defineKind('member'")
  writeFileSync(join(cwd, 'looseleaf.config.ts'), renamed)
  const run = (...args: string[]): Promise<Finished> => runInside(args, { cwd })
  await run('init', '--config', 'old.config.ts')
  const person = '{"_kind":"person","name":"Ada"}'
  expect((await run('put', person, '--config', 'old.config.ts')).code).toBe(0)
  const found = async (): Promise<unknown> =>
    (await run('query', 'member_by_name', 'name=Ada', '--json')).json()
  expect(await run('index', 'add', 'member_by_name', '--fill')).toMatchObject({ code: 0 })
  expect(await found()).toMatchObject({ items: [{ properties: { _kind: 'person', name: 'Ada' } }] })
  expect((await run('kind', 'upgrade')).stdout).toContain('member: 1 upgraded')
  expect(await found()).toMatchObject({ items: [{ properties: { _kind: 'member', name: 'Ada' } }] })
  expect((await run('index', 'show', 'member_by_name')).stdout).toContain('_kind in ("member", "person")')
})

test('put and import refuse an entity that does not fit the schema of its kind', async () => {
  const cwd = projectFolder()
  const schema = `{
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) =>
        typeof value.name === 'string'
          ? { value: { name: value.name, role: value.role ?? 'guest' } }
          : { issues: [{ message: 'expected a text', path: ['name'] }] },
    },
  }`
  const upgrades = '[({ first, ...others }) => ({ ...others, name: first })]'
  const configured = config(`upgrades: ${upgrades}`).replace('typed()', schema)
  writeFileSync(join(cwd, 'looseleaf.config.ts'), configured)
  await runInside(['init'], { cwd })

  const refused = await runInside(['put', '{"_kind":"person","_version":1,"name":7}'], { cwd })
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('The person does not fit its schema: name: expected a text.')
  const lines = [
    { _kind: 'person', _version: 1, name: 7 },
    // Newest shape: stored as the schema returns it, with unknown properties.
    { _kind: 'person', _version: 1, name: 'Ada', note: 'new' },
    // Older shape: stored unchanged.
    { _kind: 'person', first: 'Eve' },
    { _kind: 'person', first: 7 },
    { _kind: 'person', _version: 2, name: 'Zoe' },
    { _kind: 'other', name: 7 },
    { name: 7 },
  ]
  const input = lines.map((line) => JSON.stringify(line)).join('\n')
  const imported = await runInside(['import', '-', '--on-error', 'skip', '--json'], { cwd, input })
  expect(imported.json()).toMatchObject({
    created: 4,
    refused: 3,
    errors: [
      { line: 1, code: 'SCHEMA_MISMATCH', message: expect.stringContaining('name: expected a text') },
      { line: 4, code: 'SCHEMA_MISMATCH' },
      { line: 5, code: 'SCHEMA_MISMATCH', message: expect.stringContaining('a newer program') },
    ],
  })
  const exported = await runInside(['export'], { cwd })
  const bags = exported.stdout.trimEnd().split('\n')
  expect(new Set(bags.map((line) => JSON.stringify({ ...JSON.parse(line), id: undefined })))).toEqual(
    new Set([
      '{"name":"Ada","role":"guest","note":"new","_kind":"person","_version":1}',
      '{"_kind":"person","first":"Eve"}',
      '{"_kind":"other","name":7}',
      '{"name":7}',
    ]),
  )
  expect((await runInside(['import', '-', '--no-check', '--json'], { cwd, input })).json()).toMatchObject({
    // Not 7: the index refuses the line whose name is a number.
    created: 6,
  })
  expect((await runInside(['put', '--no-check', JSON.stringify(lines[4])], { cwd })).code).toBe(0)
})

test('put and import warn of entities that no kind of the config finds', async () => {
  const cwd = projectFolder()
  writeFileSync(join(cwd, 'looseleaf.config.ts'), config(''))
  await runInside(['init'], { cwd })
  const put = (json: string, ...options: string[]): Promise<Finished> =>
    runInside(['put', json, ...options], { cwd })
  const wrong = await put('{"_kind":"persn","name":"Ada"}')
  const warning =
    'The entity is of no kind of the config ("_kind": "persn"), so no kind finds it. The config has the kind person.'
  expect(wrong).toMatchObject({ code: 0, stderr: `Warning: ${warning}\n` })
  expect((await put('{"_kind":"persn","name":"Ada"}', '--json')).json()).toMatchObject({
    created: true,
    warnings: [warning],
  })
  expect((await put('{"name":"Ada"}')).stderr).toContain('("_kind": none)')
  expect((await put('{"_kind":7}')).stderr).toContain('("_kind": not a text)')
  expect((await put('{"_kind":"persn"}', '--no-check')).stderr).toBe('')
  expect((await put('{"_kind":"person","name":"Eve"}')).stderr).toBe('')

  const kinds = ['persn', 'person', 'persn', 'a', 'b', 'c', 'd', 'e']
  const input = [...kinds.map((kind) => `{"_kind":"${kind}","name":"Ada"}`), '{}'].join('\n')
  const imported = await runInside(['import', '-'], { cwd, input })
  expect(imported).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(
      'Warning: 8 lines are of no kind of the config ("_kind": "persn", "a", "b", "c", "d", …), so no kind finds them. The config has the kind person.\n',
    ),
  })
})

test.each([
  ['[{ name: "person" }]', 'kinds has to be an array of results of defineKind(…); got an array of 1 element'],
  ['undefined', 'has no kinds; it needs `kinds: [ … ]`'],
])('the error of kinds that are %s names the expectation', async (kinds, words) => {
  const cwd = projectFolder()
  writeFileSync(
    join(cwd, 'looseleaf.config.js'),
    `export default { shards: 'sqlite:data?shards=2', kinds: ${kinds} }`,
  )
  const { code, stderr } = await runInside(['kind', 'upgrade'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain(words)
})
