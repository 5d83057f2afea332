import { parseId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { countNear, defineKind, indexesOf, typed } from '@looseleaf/kinds'
import { bucketOfId } from '@looseleaf/router'
import { DataStore } from '@looseleaf/store'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, onTestFinished, test } from 'vitest'

const Project = defineKind('project', {
  schema: typed<{ tenant: string; name: string }>(),
  indexes: { byTenant: { by: [{ tenant: 'string' }, { name: 'string' }] } },
  near: 'tenant',
})
const Task = defineKind('task', {
  schema: typed<{ project: string; due: Date }>(),
  indexes: { byProject: { by: [{ project: 'uuid' }, { due: 'time' }] } },
  near: 'project',
})

test('the data of a tenant moves with its bucket, and its entities stay near their index rows', async () => {
  const store = await DataStore.open({
    shards: memoryShards(2),
    indexes: indexesOf(Project, Task),
    migrate: true,
    time: leapingTime(),
  })
  onTestFinished(() => store.close())
  const [projects, tasks] = [Project.in(store), Task.in(store)]
  const { id: project } = await projects.insert({ tenant: 'acme', name: 'Website' })
  await tasks.insertMany(Array.from({ length: 10 }, (_, i) => ({ project, due: new Date(i) })))
  // Other data stays where it is.
  await projects.insertMany(Array.from({ length: 10 }, (_, i) => ({ tenant: `tenant ${i}`, name: 'x' })))

  const shard = (): number => store.context.catalog.current().placement.shardOfId(parseId(project))
  const from = shard()
  const buckets = `${bucketOfId(parseId(project))}`
  expect(await store.shards.move({ from, to: 1 - from, buckets })).toMatchObject({ state: 'done' })

  expect(shard()).toBe(1 - from)
  await tasks.insert({ project, due: new Date(10) })
  const { placement } = store.context.catalog.current()
  const found = await tasks.byProject.all({ project })
  expect(found.map(({ due }) => due.getTime())).toEqual(Array.from({ length: 11 }, (_, i) => i))
  for (const { id } of found) expect(placement.shardOfId(parseId(id))).toBe(1 - from)
  expect((await countNear(store, [Project, Task])).kinds).toMatchObject({
    project: { atPlace: 11, elsewhere: 0, indexes: { project_by_tenant: { rows: 11, local: 11 } } },
    task: { atPlace: 11, elsewhere: 0, indexes: { task_by_project: { rows: 11, local: 11 } } },
  })
})
