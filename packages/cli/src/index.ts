export { defineConfig, type LooseleafConfig } from './config/define-config.ts'
export { shardsFrom } from './config/shards-from.ts'
