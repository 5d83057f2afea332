import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * Below the ports of outgoing connections (from 32768 on Linux, from 49152 elsewhere). A server that restarts
 * on its port could find it taken by such a connection, even by a client that is connected to itself.
 */
const FIRST = 15_000
const LAST = 32_000
const ATTEMPTS = 50

/** Returns a port of 127.0.0.1 that is free now; another process may still take it first. */
export async function freePort(): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const port = randomInt(FIRST, LAST)
    try {
      await bind(port)
      return port
    } catch (error) {
      if (attempt === ATTEMPTS) throw error
    }
  }
}

function bind(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve()))
  })
}
