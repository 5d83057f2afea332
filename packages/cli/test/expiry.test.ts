import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectFolder, runInside, type Finished } from './run-command.ts'

test('clean deletes expired entities without a config, and index lists mark the index that expires them', async () => {
  const cwd = projectFolder()
  writeFileSync(
    join(cwd, 'kinds.config.ts'),
    `import { defineConfig } from '@looseleaf/cli'
     import { defineKind, typed } from '@looseleaf/kinds'
     const indexes = { byUser: { by: [{ user: 'string' }] } }
     const kind = defineKind('session', { schema: typed(), indexes, expires: 'until' })
     export default defineConfig({ shards: 'sqlite:data?shards=2', kinds: [kind] })`,
  )
  writeFileSync(
    join(cwd, 'looseleaf.config.ts'),
    `import { defineConfig } from '@looseleaf/cli'
     export default defineConfig({ shards: 'sqlite:data?shards=2' })`,
  )
  const run = (...args: string[]): Promise<Finished> => runInside(args, { cwd })
  expect((await run('init', '--config', 'kinds.config.ts')).code).toBe(0)
  const put = (until: string): Promise<Finished> =>
    run('put', JSON.stringify({ _kind: 'session', user: 'ada', until: { $date: until } }))
  expect((await put('2020-01-01T00:00:00.000Z')).code).toBe(0)
  expect((await put('9000-01-01T00:00:00.000Z')).code).toBe(0)

  expect((await run('index', 'list')).stdout).toMatch(
    /session_expires .*until time; deletes expired entities/,
  )
  expect((await run('index', 'show', 'session_expires')).stdout).toContain(
    'expires     deletes entities after the time in until',
  )
  const { indexes } = (await run('status', '--json')).json<{ indexes: Record<string, unknown>[] }>()
  expect(indexes.map(({ name, expires }) => [name, expires])).toEqual([
    ['session_by_user', undefined],
    ['session_expires', 'until'],
  ])
  expect((await run('clean', '--index', 'session_by_user', '--json')).json()).toMatchObject({ expired: 0 })
  const { code, stdout } = await run('clean')
  expect(code).toBe(0)
  expect(stdout).toMatch(/^1 expired entity deleted\.\n/)
  expect(
    (await run('query', 'session_by_user', 'user=ada', '--json')).json<{ items: [] }>().items,
  ).toHaveLength(1)
})
