import { createHash } from 'node:crypto'

/*
 * Replaces the refreshed part by each message of the stream, and restores focus and scroll positions. Skips a message while a
 * button is held down or text is selected, because a replacement would lose both. It only refreshes the page, so the page
 * also works without scripts.
 */
export const LIVE_SCRIPT = `
const part = document.getElementById('live'), news = document.getElementById('news')
new EventSource(part.dataset.stream).onmessage = ({ data }) => {
  if (part.querySelector(':active') || !getSelection().isCollapsed) return
  if (data === part.dataset.last) return
  part.dataset.last = data
  const focus = document.activeElement?.id
  const positions = Array.from(part.querySelectorAll('.scroll'), (box) => box.scrollLeft)
  part.innerHTML = data
  part.querySelectorAll('.scroll').forEach((box, i) => (box.scrollLeft = positions[i] ?? 0))
  if (focus) document.getElementById(focus)?.focus({ preventScroll: true })
  const now = part.firstElementChild.dataset.news
  if (news.textContent !== now) news.textContent = now
}
`

export const LIVE_SCRIPT_HASH: string = createHash('sha256').update(LIVE_SCRIPT).digest('base64')
