export { defineConfig, type LooseleafConfig } from './config/define-config.ts'
export { shardsFrom, type ShardsFromOptions } from './config/shards-from.ts'
