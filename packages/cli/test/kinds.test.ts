import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectFolder, runCommand, runInside, type Finished } from './run-command.ts'

const config = (kind: string): string => `
  import { defineConfig } from '@looseleaf/cli'
  import { defineKind, typed } from '@looseleaf/kinds'
  const indexes = { byName: { by: [{ name: 'string' }] } }
  const person = defineKind('person', { schema: typed(), indexes, ${kind} })
  export default defineConfig({ shards: 'sqlite:data?shards=2', kinds: [person] })
`

test('the indexes of kinds are the config’s, and entities of an old shape are upgraded', async () => {
  const cwd = projectFolder()
  const configure = (kind: string): void => writeFileSync(join(cwd, 'looseleaf.config.ts'), config(kind))
  const run = (...args: string[]): Promise<Finished> => runCommand(args, { cwd })
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
  expect((await run('kind', 'upgrade', '--json')).json()).toEqual({
    scanned: 2,
    upgraded: { person: 2 },
    failed: [],
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

test.each([
  [
    '[{ name: "person" }]',
    'kinds has to be an array of what defineKind(…) gives; got an array of 1 elements',
  ],
  ['undefined', 'has no kinds; it needs `kinds: [ … ]`'],
])('kinds that are %s are told', async (kinds, words) => {
  const cwd = projectFolder()
  writeFileSync(
    join(cwd, 'looseleaf.config.js'),
    `export default { shards: 'sqlite:data?shards=2', kinds: ${kinds} }`,
  )
  const { code, stderr } = await runInside(['kind', 'upgrade'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain(words)
})
