import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { projectFolder, runInside, type Finished } from './run-command.ts'

let cwd: string
beforeEach(() => {
  cwd = projectFolder()
})

const run = (...args: string[]): Promise<Finished> => runInside(args, { cwd })
const configure = (policies: object, file = 'looseleaf.config.js'): void =>
  writeFileSync(
    join(cwd, file),
    `export default ${JSON.stringify({ shards: 'sqlite:data?shards=2', ...policies })}`,
  )

test('policies shows all policies and changes one of them', async () => {
  configure({})
  await run('init')
  expect((await run('policies', '--json')).json()).toEqual({
    deleteDelayMs: 0,
    onIndexFailure: 'fail',
    keepTombstonesMs: 604_800_000,
  })
  expect((await run('policies', '--delete-delay-ms', '300000')).stdout).toBe(
    'Superfluous index rows stay for 300,000 ms, because a failover may need them. While the shard of an index row is down, writes fail. Tombstones are kept for 7 days.\n',
  )
  const both = { deleteDelayMs: 300_000, onIndexFailure: 'defer', keepTombstonesMs: 7_200_000 }
  expect(
    (
      await run('policies', '--on-index-failure', 'defer', '--keep-tombstones-ms', '7200000', '--json')
    ).json(),
  ).toEqual(both)
  expect((await run('status', '--json')).json()).toMatchObject({ policies: both })
  expect((await run('status')).stdout).toContain('stay for 300,000 ms')
}, 20_000)

test.each([
  [['--delete-delay-ms', '-1'], 'milliseconds'],
  [['--delete-delay-ms', '5min'], 'milliseconds'],
  [['--on-index-failure', 'wait'], 'fail, defer'],
  [
    ['--keep-tombstones-ms', '5'],
    "option '--keep-tombstones-ms <n>' argument '5' is invalid. It has to be a whole number of milliseconds, 3,600,000",
  ],
])('%j is refused', async (args, words) => {
  configure({})
  await run('init')
  const { code, stderr } = await run('policies', ...args)
  expect(code).toBe(2)
  expect(stderr).toContain(words)
})

test('policies of a config apply only to a new store', async () => {
  configure({ deleteDelayMs: 7_000 })
  await run('init')
  configure({ deleteDelayMs: 8_000 }, 'other.js')
  expect((await run('policies', '--config', 'other.js', '--json')).json()).toMatchObject({
    deleteDelayMs: 7_000,
    onIndexFailure: 'fail',
  })
  const { code, stderr } = await run('init', '--config', 'other.js')
  expect(code).toBe(4)
  expect(stderr).toMatch(/deleteDelayMs is 7000 .*got 8000.*Given by .*other\.js: deleteDelayMs/)
})
