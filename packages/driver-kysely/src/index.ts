export { kyselyDriver } from './driver.ts'
export type { Flavor } from './database/flavor.ts'
export { kyselyShard, type KyselyShardOptions } from './shard.ts'
