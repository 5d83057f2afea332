import shared from '@looseleaf-tooling/vitest'
import { mergeConfig, type ViteUserConfig } from 'vitest/config'

// Nothing here keeps state between tests, and to load all of it again for every file takes longer than the tests.
const config: ViteUserConfig = mergeConfig(shared, { test: { isolate: false } })
export default config
