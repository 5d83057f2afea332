import { createHash } from 'node:crypto'

/*
 * Replaces the refreshed part by each message of the stream. Restores the scroll positions and the focus: a button has an id, a scrollable
 * box a name, and a link an address. Skips a message while a button is held down or text is selected, because a replacement would lose
 * both. Says so while there is no connection. It only refreshes the page, so the page also works without scripts.
 */
export const LIVE_SCRIPT = `
const part = document.getElementById('live'), news = document.getElementById('news'), old = document.getElementById('old')
const stream = new EventSource(part.dataset.stream)
stream.onerror = () => (old.hidden = false)
stream.onmessage = ({ data }) => {
  old.hidden = true
  if (part.querySelector(':active') || !getSelection().isCollapsed) return
  if (data === part.dataset.last) return
  part.dataset.last = data
  const active = document.activeElement, hadFocus = part.contains(active)
  const positions = Array.from(part.querySelectorAll('.scroll'), (box) => box.scrollLeft)
  part.innerHTML = data
  part.querySelectorAll('.scroll').forEach((box, i) => (box.scrollLeft = positions[i] ?? 0))
  const isSame = ({ id, ariaLabel, href }) => id === active.id && ariaLabel === active.ariaLabel && href === active.href
  if (hadFocus) Array.from(part.querySelectorAll('a, button, [tabindex]')).find(isSame)?.focus({ preventScroll: true })
  const now = part.firstElementChild.dataset.news
  if (news.textContent !== now) news.textContent = now
}
`

export const LIVE_SCRIPT_HASH: string = createHash('sha256').update(LIVE_SCRIPT).digest('base64')
