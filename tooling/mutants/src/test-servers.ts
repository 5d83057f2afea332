import { startServers, type RunningServers } from '@looseleaf-tooling/mariadb'

/** Database servers for the tests that need some, started when they are first asked for. */
export interface TestServers {
  /** What processes of tests have to be told. */
  environment(): Promise<Readonly<Record<string, string>>>
  stop(): Promise<void>
}

export function createTestServers(): TestServers {
  let running: Promise<RunningServers> | undefined
  return {
    async environment() {
      // They start none of their own, which nobody would stop when one of them is killed.
      const { urls } = await (running ??= startServers(2))
      return { LOOSELEAF_TEST_MYSQL: urls.join() }
    },
    async stop() {
      await (await running)?.stop()
    },
  }
}
