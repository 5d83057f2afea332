import { throwIfAborted, type Lane } from '@looseleaf/core/internal'
import { laneBy } from '../../calls/lane-by.ts'
import type { ShardLanes } from '../../calls/shard-lanes.ts'

export type Found = Awaited<ReturnType<ShardLanes['read']['submit']>>

/** Wraps a read lane with other ways to answer. Keeps its statistics, and rejects calls whose signal has aborted. */
export function readLaneBy(
  lane: ShardLanes['read'],
  { submit, submitAll }: Pick<Lane<Uint8Array, Found>, 'submit' | 'submitAll'>,
): Lane<Uint8Array, Found> {
  return laneBy(lane, {
    async submit(id, signal) {
      throwIfAborted(signal)
      return submit(id, signal)
    },
    async submitAll(ids, signal) {
      throwIfAborted(signal)
      return submitAll(ids, signal)
    },
  })
}
