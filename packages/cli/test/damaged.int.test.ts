import { readFileSync } from 'node:fs'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { checkIndex, cleanIndex } from '@looseleaf/cleaner'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { defineIndex } from '@looseleaf/index-engine'
import { DataStore } from '@looseleaf/store'
import { expect, onTestFinished, test } from 'vitest'
import { damageBody, type DamagedLine } from './damage-body.ts'
import { projectFolder, runInside } from './run-command.ts'

test('a damaged body of 6 MiB on MariaDB is listed, exported byte by byte and deleted, and its index cleaned', async () => {
  const { urls } = await freshShards(2)
  const cwd = projectFolder()
  const env = { LOOSELEAF_SHARDS: urls.join(',') }
  const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
  const store = await DataStore.open({
    shards: mysqlShards(urls),
    indexes: [byName],
    migrate: true,
    queryTimeMs: 10,
  })
  onTestFinished(() => store.close())
  const { id: other } = await store.put({ name: 'other' })
  const { id } = await store.put({ name: 'damaged' })
  const damaged = Buffer.alloc(6 * 1024 * 1024, 'damage')
  await damageBody(store, id, () => damaged)

  const listed = await runInside(['damaged', '--json'], { cwd, env })
  expect(listed.code).toBe(1)
  expect(listed.json()).toMatchObject({ id, code: 'BODY_DAMAGED', bodyBytes: damaged.length })

  const args = ['damaged', '--export', 'bodies', '--delete', '--yes', '--json']
  const deleted = await runInside(args, { cwd, env })
  expect(deleted).toMatchObject({ code: 0, stderr: '' })
  const { file, deleted: isDeleted } = deleted.json<DamagedLine>()
  expect(isDeleted).toBe(true)
  expect(readFileSync(file!).equals(damaged)).toBe(true)
  expect(await store.getMany([id, other])).toMatchObject([undefined, { id: other }])
  expect(await runInside(args, { cwd, env })).toMatchObject({ code: 0, stdout: '' })

  expect(await cleanIndex(store, 'by_name')).toMatchObject({ removed: 1 })
  expect(await checkIndex(store, 'by_name')).toMatchObject({ entities: 1, rows: 1, missing: 0, dangling: 0 })
})
