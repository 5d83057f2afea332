import { mergeConfig, type ViteUserConfig } from 'vitest/config'
import shared from './config.ts'

/**
 * For packages of many short test files that leave nothing behind in modules: to load all modules again for each of these files
 * takes longer than their tests. Not for long tests, since vitest deals files out beforehand where a worker keeps its modules.
 */
const config: ViteUserConfig = mergeConfig(shared, { test: { isolate: false } })
export default config
