import type { CallOptions, Shard } from '@looseleaf/core'
import { countsIn, parseObject, textIn, toObject } from '@looseleaf/core/internal'
import { presentShards } from '@looseleaf/index-engine/internal'
import type { AnyKind, KindPlaces, NearCounts } from '@looseleaf/kinds'
import type { DataStore } from '@looseleaf/store'
import { randomUUID } from 'node:crypto'

/** The counts of a kind by the last `looseleaf kind check`. */
export interface NearRecord extends Omit<KindPlaces, 'indexes'> {
  readonly near: string
  readonly checkedAt: Date
}

const TASK = 'kind-check'
const LEASE_MS = 5_000

const leading = ({ context }: DataStore): Shard => presentShards(context.driver)[0] as Shard

/**
 * Saves the counts of the kinds with `near` on the leading shard, in place of earlier counts of the same kinds. Counts of other kinds stay. Returns false,
 * and saves nothing, while another process saves.
 */
export async function saveNearCounts(
  store: DataStore,
  { kinds }: NearCounts,
  options: CallOptions,
): Promise<boolean> {
  const { tasks } = leading(store)
  const owner = randomUUID()
  const state = await tasks.claim(TASK, owner, LEASE_MS, options)
  if (state === undefined) return false
  const checkedAt = store.context.time.now()
  const records = parseObject(state.progress) ?? {}
  for (const [kind, { near, entities, atPlace, elsewhere, withoutPlace }] of Object.entries(kinds)) {
    if (near === undefined) delete records[kind]
    else records[kind] = { near, entities, atPlace, elsewhere, withoutPlace, checkedAt }
  }
  return tasks.save(TASK, owner, JSON.stringify(records), 0, options)
}

/** A kind with `near`, and its last counts; undefined if it was never checked. */
export interface KindNearness {
  readonly kind: string
  readonly near: string
  readonly counts: NearRecord | undefined
}

/** Reads the last counts of the kinds of the config, or of all kinds that were checked if the config has none. */
export async function readNearness(
  store: DataStore,
  kinds: readonly AnyKind[],
  options: CallOptions,
): Promise<readonly KindNearness[]> {
  const state = await leading(store).tasks.load(TASK, options)
  const records = parseObject(state?.progress ?? '') ?? {}
  const placed = kinds.flatMap(({ name: kind, near }) =>
    near === undefined ? [] : [{ kind, near: near.path }],
  )
  const shown = kinds.length > 0 ? placed : Object.keys(records).map((kind) => ({ kind, near: undefined }))
  return shown.flatMap(({ kind, near }) => {
    const counts = recordIn(records, kind)
    // Counts by another property say nothing about this one.
    if (near !== undefined) return [{ kind, near, counts: counts?.near === near ? counts : undefined }]
    return counts === undefined ? [] : [{ kind, near: counts.near, counts }]
  })
}

function recordIn(records: Record<string, unknown>, kind: string): NearRecord | undefined {
  const value = toObject(records[kind])
  if (value === undefined) return undefined
  const names = ['entities', 'atPlace', 'elsewhere', 'withoutPlace', 'checkedAt'] as const
  const { checkedAt, ...counts } = countsIn(value, names)
  return { ...counts, near: textIn(value, 'near'), checkedAt: new Date(checkedAt) }
}
