import type { Lane } from '@looseleaf/core/internal'
import { laneBy } from './lane-by.ts'
import type { ShardLanes } from './shard-lanes.ts'

/** Returns lanes whose reads by id do not wait for a silent server, see `AnswerWait`. They share their statements with the given lanes. */
export function boundedLanes(lanes: ShardLanes): ShardLanes {
  const bounded = <Item, Result>(lane: Lane<Item, Result>): Lane<Item, Result> =>
    laneBy(lane, {
      submit: (item, signal) => lanes.answers.bounded(() => lane.submit(item, signal)),
      submitAll: (items, signal) => lanes.answers.bounded(() => lane.submitAll(items, signal)),
    })
  return {
    ...lanes,
    read: bounded(lanes.read),
    readLong: bounded(lanes.readLong),
    version: bounded(lanes.version),
  }
}
