import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sqliteShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { DataStore } from '@looseleaf/store'
import { expect, test } from 'vitest'
import { projectFolder, runInside, type Finished } from './run-command.ts'

test('index exact keeps a new store as it is with on, and switches its exact indexes off with off', async () => {
  const cwd = projectFolder()
  const run = (...args: string[]): Promise<Finished> => runInside(args, { cwd })
  writeFileSync(join(cwd, 'looseleaf.config.js'), `export default { shards: 'sqlite:data' }`)
  const index = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
  const store = await DataStore.open({
    shards: sqliteShards({ folder: join(cwd, 'data') }),
    indexes: [index],
    migrate: true,
  })
  await store.close()
  expect((await run('index', 'show', 'by_name')).stdout).toContain(
    "lost rows   go at once if they are on the entity's shard",
  )
  expect((await run('index', 'show', 'by_name', '--json')).json()).toMatchObject({
    generations: [{ exact: 'on' }],
  })
  expect((await run('index', 'exact', 'on')).stdout).toBe('1 index is exact: by_name.\n')
  expect((await run('index', 'exact', 'off', '--json')).json()).toEqual({ exact: [] })
  expect((await run('index', 'show', 'by_name')).stdout).not.toContain('lost rows')
  const { code, stderr } = await run('index', 'exact', 'maybe')
  expect(code).toBe(2)
  expect(stderr).toContain('on, off')
})
