import { startServers, type RunningServers } from '@looseleaf-tooling/mariadb'

/** Database servers for tests, started on first use. */
export interface TestServers {
  /** Returns environment variables for test processes. */
  environment(): Promise<Readonly<Record<string, string>>>
  stop(): Promise<void>
}

export function createTestServers(): TestServers {
  let running: Promise<RunningServers> | undefined
  return {
    async environment() {
      // Given servers, test processes start none of their own, which would survive a killed process.
      const { urls } = await (running ??= startServers(2))
      return { LOOSELEAF_TEST_MYSQL: urls.join() }
    },
    async stop() {
      await (await running)?.stop()
    },
  }
}
