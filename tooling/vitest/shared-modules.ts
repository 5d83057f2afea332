import { mergeConfig, type ViteUserConfig } from 'vitest/config'
import shared from './config.ts'

/**
 * Settings for packages whose test files leave no state in modules: a worker loads the modules once for all of its
 * files, which often takes longer than the tests. Spies end with their test: one on `process` would hide the warnings
 * of later files.
 */
const config: ViteUserConfig = mergeConfig(shared, { test: { isolate: false, restoreMocks: true } })
export default config
