import { randomBytes } from 'node:crypto'
import { createConnection } from 'mysql2/promise'

/** Sends a statement as the user of the URL. */
export async function sendStatement(adminUrl: string, statement: string): Promise<void> {
  const admin = await createConnection(adminUrl)
  await admin.query(statement).finally(() => admin.end())
}

/** Drops the database of the URL, and creates it again without tables. */
export async function recreateDatabase(adminUrl: string): Promise<void> {
  const name = new URL(adminUrl).pathname.slice(1)
  const server = new URL('/mysql', adminUrl).href
  await sendStatement(server, `DROP DATABASE \`${name}\``)
  await sendStatement(server, `CREATE DATABASE \`${name}\``)
}

/** Creates a user with only these privileges on the database of the URL. */
export async function createLimitedUser(
  adminUrl: string,
  privileges: string,
): Promise<{ readonly url: string; drop(): Promise<void> }> {
  const url = new URL(adminUrl)
  const database = url.pathname.slice(1)
  const user = `limited_${randomBytes(4).toString('hex')}`
  const password = `hush-${randomBytes(8).toString('hex')}`
  const admin = await createConnection(adminUrl)
  try {
    await admin.query(`CREATE USER '${user}'@'%' IDENTIFIED BY '${password}'`)
    await admin.query(`GRANT ${privileges} ON \`${database}\`.* TO '${user}'@'%'`)
  } finally {
    await admin.end()
  }
  url.username = user
  url.password = password
  return {
    url: url.href,
    async drop() {
      await sendStatement(adminUrl, `DROP USER '${user}'@'%'`)
    },
  }
}
