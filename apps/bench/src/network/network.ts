import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** A simulated network: proxies in a separate process. */
export interface Network {
  /** Returns the URLs of the databases through a proxy. */
  route(databases: readonly string[]): Promise<readonly string[]>
  close(): Promise<void>
}

/** Creates a network that delays each byte by `delayMs` milliseconds each way. */
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
          const exited = once(child, 'exit')
          child.disconnect()
          await exited
        },
      })
      const [proxyPorts] = (await once(child, 'message')) as [number[]]
      return databases.map((url, i) => {
        const routed = new URL(url)
        routed.port = String(proxyPorts[i])
        return routed.href
      })
    },
    async close() {
      await Promise.all(proxies.map((proxy) => proxy.close()))
    },
  }
}
