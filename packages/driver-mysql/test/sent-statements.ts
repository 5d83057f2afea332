import type { Connection, RowDataPacket } from 'mysql2/promise'
import { expect } from 'vitest'
import type { TcpProxy } from './tcp-proxy.ts'

/** Collects the first word of each statement that passes a proxy from now on. */
export function wordsThrough(proxy: TcpProxy): string[] {
  return collect(proxy, (text) => /\w+/.exec(text.slice(5))?.[0] ?? '')
}

/** Collects the text of each SELECT that passes a proxy from now on. */
export function selectsThrough(proxy: TcpProxy): string[] {
  // The packet has the command in front of the text, and for MySQL the empty query attributes.
  return collect(proxy, (text) => text.replace(/^.*?(?=select)/is, ''))
}

function collect(proxy: TcpProxy, read: (text: string) => string): string[] {
  const sent: string[] = []
  proxy.rewrite = (bytes) => {
    sent.push(read(bytes.toString('latin1')))
    return bytes
  }
  return sent
}

/** Expects that each statement reads a short range of the key on the time of writing, and sorts nothing. */
export async function expectTimeRanges(observer: Connection, statements: readonly string[]): Promise<void> {
  for (const statement of statements) {
    const [plan] = await observer.query<RowDataPacket[]>(`EXPLAIN FORMAT=TRADITIONAL ${statement}`)
    expect(plan).toMatchObject([{ type: 'range', key: 'updated' }])
    expect(Number(plan[0]?.rows)).toBeLessThan(100)
    expect(plan[0]?.Extra).not.toMatch(/filesort|temporary/)
  }
}
