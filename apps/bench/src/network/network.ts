import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** Databases as they are reached over a network: through proxies in a process of their own. */
export interface Network {
  route(databases: readonly string[]): Promise<readonly string[]>
  close(): Promise<void>
}

/** Holds up what is sent for so many milliseconds each way. */
export function startNetwork(delayMs: number): Network {
  const proxies: { close(): Promise<void> }[] = []
  return {
    async route(databases) {
      const ports = databases.map((url) => Number(new URL(url).port))
      const child = fork(
        fileURLToPath(new URL('delay-proxy.ts', import.meta.url)),
        [JSON.stringify({ ports, delayMs })],
        { execArgv: ['--disable-warning=ExperimentalWarning'] },
      )
      proxies.push({
        async close() {
          const gone = once(child, 'exit')
          child.disconnect()
          await gone
        },
      })
      const [own] = (await once(child, 'message')) as [number[]]
      return databases.map((url, i) => {
        const routed = new URL(url)
        routed.port = String(own[i])
        return routed.href
      })
    },
    async close() {
      await Promise.all(proxies.map((proxy) => proxy.close()))
    },
  }
}
