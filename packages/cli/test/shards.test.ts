import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sqliteShards } from '@looseleaf/driver-sqlite'
import { changeCatalogContents } from '@looseleaf/index-engine/internal'
import { beforeEach, expect, test } from 'vitest'
import { projectFolder, runInside, type Finished } from './run-command.ts'

let cwd: string
const run = (...args: string[]): Promise<Finished> => runInside(args, { cwd })

beforeEach(async () => {
  cwd = projectFolder()
  writeFileSync(join(cwd, 'looseleaf.config.js'), `export default { shards: 'sqlite:data?shards=2' }`)
  await run('init')
})

test('shard add checks a database, makes it a shard once, and shard list shows it', async () => {
  const dry = await run('shard', 'add', 'shard-2.sqlite', '--dry-run')
  expect(dry).toMatchObject({ code: 0, stdout: 'shard-2.sqlite fits as shard 2. Nothing was changed.\n' })
  expect(readdirSync(join(cwd, 'data'))).not.toContain('shard-2.sqlite')
  expect((await run('shard', 'list', '--json')).json()).toHaveLength(2)

  expect((await run('shard', 'add', 'shard-2.sqlite')).stdout).toBe(
    'shard-2.sqlite is shard 2 of the store. It owns no buckets yet. Give it some with: looseleaf shard rebalance\n',
  )
  expect((await run('shard', 'add', 'shard-2.sqlite')).stdout).toBe(
    'shard-2.sqlite is shard 2 of the store already. Nothing was changed.\n',
  )
  expect((await run('shard', 'add', 'shard-2.sqlite', '--json')).json()).toEqual({
    number: 2,
    address: 'shard-2.sqlite',
    added: false,
    warnings: [],
  })
  const { code, stdout } = await run('shard', 'list')
  expect(code).toBe(0)
  expect(stdout).toMatch(/^SHARD +ADDRESS +STATE +BUCKETS +RANGES +ERROR/)
  expect(stdout).toMatch(/^1 +shard-1\.sqlite +serving +2048 +2048-4095/m)
  expect(stdout).toMatch(/^2 +shard-2\.sqlite +serving +0/m)
  const listed = { address: 'shard-2.sqlite', state: 'serving', buckets: 0, ranges: '', error: null }
  expect((await run('shard', 'list', '--json')).json()).toEqual([
    expect.objectContaining({ number: 0, buckets: 2048, ranges: '0-2047' }),
    expect.objectContaining({ number: 1, buckets: 2048, ranges: '2048-4095' }),
    { number: 2, ...listed },
  ])
}, 20_000)

test.each(['nonsense', '../nonsense', 'db3.internal/feed'])(
  'shard add of a store in SQLite refuses %s, which is not the name of a database, and makes no file',
  async (address) => {
    for (const options of [['--dry-run'], []]) {
      const { code, stdout, stderr } = await run('shard', 'add', address, ...options)
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toContain(
        'The file of a new SQLite shard ends in .sqlite, such as shard-2.sqlite; got "',
      )
    }
    expect(readdirSync(join(cwd, 'data')).filter((name) => !name.startsWith('shard-'))).toEqual([])
    expect((await run('shard', 'list', '--json')).json()).toHaveLength(2)
  },
  20_000,
)

test('a dry run tells that a shard has joined already', async () => {
  const { stdout } = await run('shard', 'add', 'shard-1.sqlite', '--dry-run')
  expect(stdout).toBe('shard-1.sqlite is shard 1 of the store already. Nothing was changed.\n')
})

test('a dry run tells the number that a new database gets at the address of a removed shard', async () => {
  const driver = await sqliteShards({ folder: join(cwd, 'data'), shards: 2 }).connect()
  await changeCatalogContents(driver, ({ layout, ...contents }) => {
    const shards = [...layout!.shards, { name: 'shard-2.sqlite', buckets: '', state: 'removed' as const }]
    return { ...contents, layout: { ...layout!, revision: layout!.revision + 1, shards } }
  })
  await driver.close()
  const { stdout } = await run('shard', 'add', 'shard-2.sqlite', '--dry-run')
  expect(stdout).toBe('shard-2.sqlite fits as shard 3. Nothing was changed.\n')
  expect((await run('shard', 'add', 'shard-2.sqlite', '--json')).json()).toMatchObject({
    number: 3,
    added: true,
  })
})

test.each([
  ['sqlite:data', 'sqlite:data/shard-2.sqlite'],
  ['mysql', 'mysql://ada:secret@db3:3306/feed'],
])(
  'shard add of a store in SQLite refuses a %s URL, and makes no file',
  async (_, address) => {
    const { code, stdout, stderr } = await run('shard', 'add', address)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('the path of a file, such as shard-2.sqlite')
    expect(stderr).not.toContain('secret')
    expect((await run('shard', 'list', '--json')).json()).toHaveLength(2)
  },
  20_000,
)
