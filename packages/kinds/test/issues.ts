import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore, type DataStoreOptions } from '@looseleaf/store'
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
export const openStore = (...kinds: readonly AnyKind[]): Promise<DataStore> => openStoreWith({}, ...kinds)

/** As `openStore`, with options of the store. */
export async function openStoreWith(
  options: Pick<DataStoreOptions, 'onWarning'>,
  ...kinds: readonly AnyKind[]
): Promise<DataStore> {
  const shards = memoryShards(2)
  const store = await DataStore.open({ shards, indexes: indexesOf(...kinds), migrate: true, ...options })
  onTestFinished(() => store.close())
  return store
}
