export { defineConfig, type LooseleafConfig } from './define-config.ts'
export { shardsFrom, type ShardsFromOptions } from './shards-from.ts'
