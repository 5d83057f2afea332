import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore } from '@looseleaf/store'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { defineKind, indexesOf, type AnyKind } from '../src/index.ts'

export const Issue = defineKind('issue', {
  schema: z.object({
    project: z.string(),
    title: z.string().min(1),
    status: z.enum(['open', 'closed']).default('open'),
    labels: z.array(z.string()).default([]),
    assignee: z.string().nullable().default(null),
    author: z.object({ id: z.string(), name: z.string().optional() }).optional(),
    due: z.date().optional(),
  }),
  indexes: {
    byProject: { by: [{ project: 'string' }, { due: { type: 'time', nulls: 'last' } }] },
    byAssignee: { by: [{ assignee: { type: 'string', nulls: 'last' } }, { status: 'string' }] },
    byLabel: { by: [{ labels: 'string[]' }] },
    byInitial: { by: [{ title: { type: 'string', key: 'prefix(1)', as: 'initial' } }] },
    byTitle: { by: [{ title: { type: 'string', key: 'lower' } }], unique: true },
  },
})

/** Opens a store in memory with the indexes of these kinds. Closes it after the test. */
export async function openStore(...kinds: readonly AnyKind[]): Promise<DataStore> {
  const store = await DataStore.open({ shards: memoryShards(2), indexes: indexesOf(...kinds), migrate: true })
  onTestFinished(() => store.close())
  return store
}
