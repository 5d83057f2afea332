export type { ChangedEntity } from './consumer/changed-entity.ts'
export { consume, type Consumer, type ConsumerStatus, type ShardConsumerStatus } from './consumer/consume.ts'
export type { ChangedItem, ConsumedKind } from './consumer/consumed-kinds.ts'
export type { ConsumeOptions } from './consumer/consume-options.ts'
export type { Handler } from './consumer/row-handler.ts'
export {
  discardDeadLetters,
  dropConsumer,
  readDeadLetters,
  replayDeadLetters,
  type DeadLetter,
} from './report/manage-consumers.ts'
export { readConsumers, type ConsumerReport, type ConsumerShardReport } from './report/read-consumers.ts'
export { watch, type WatchedPage } from './watch/watch.ts'
