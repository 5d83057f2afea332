import { throwIfAborted, type Lane } from '@looseleaf/core'
import type { ShardLanes } from '../calls/shard-lanes.ts'

/** A row as the read lane gives it. */
export type Found = Awaited<ReturnType<ShardLanes['read']['submit']>>

/** The lane with other ways to an answer: what it has sent is told as before, and a call whose signal has fired goes no way. */
export function readLaneBy(
  lane: ShardLanes['read'],
  { submit, submitAll }: Pick<Lane<Uint8Array, Found>, 'submit' | 'submitAll'>,
): Lane<Uint8Array, Found> {
  return {
    get statements() {
      return lane.statements
    },
    get items() {
      return lane.items
    },
    get waiting() {
      return lane.waiting
    },
    async submit(id, signal) {
      throwIfAborted(signal)
      return submit(id, signal)
    },
    async submitAll(ids, signal) {
      throwIfAborted(signal)
      return submitAll(ids, signal)
    },
  }
}
