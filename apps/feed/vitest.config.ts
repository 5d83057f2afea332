import shared from '@looseleaf-tooling/vitest'
import { mergeConfig, type ViteUserConfig } from 'vitest/config'

// Node itself loads no JSX.
const config: ViteUserConfig = mergeConfig(shared, { test: { experimental: { viteModuleRunner: true } } })
export default config
