import { mergeConfig, type ViteUserConfig } from 'vitest/config'
import shared from './config.ts'

/**
 * Settings for packages with many short test files that leave no state in modules, where reloading all
 * modules would take longer than the tests. Not for long tests: without isolation, vitest assigns files to
 * workers beforehand.
 */
const config: ViteUserConfig = mergeConfig(shared, { test: { isolate: false } })
export default config
